"""Where the project's own files are."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The folder that holds the packages `planners` and `app`."""
ASSETS = ROOT / "app" / "assets"


def script(*names: str) -> str:
    """Files of our own JavaScript, one after the other, by their names without `.js`."""
    return "".join((ASSETS / f"{name}.js").read_text("utf-8") for name in names)
