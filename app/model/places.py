"""Where the project's own files are."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The folder that holds the packages `planners` and `app`."""
ASSETS = ROOT / "app" / "assets"
