"""Which version of Spillway this is: a checkout's by its `pyproject.toml`, or the installed one."""

from __future__ import annotations

import tomllib
from pathlib import Path

UNKNOWN = "unknown"


def installed_version() -> str:
    """The version, as `pyproject.toml` has it; `unknown` for a copy of the packages alone."""
    written = written_version(Path(__file__).parents[2] / "pyproject.toml")
    if written != UNKNOWN:
        return written
    from importlib.metadata import PackageNotFoundError, version  # which takes a while

    try:
        return version("spillway")
    except PackageNotFoundError:
        return UNKNOWN


def written_version(path: Path) -> str:
    """Spillway's version in its `pyproject.toml`; `unknown` where that is not there."""
    try:
        project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
        return str(project["version"]) if project["name"] == "spillway" else UNKNOWN
    except (OSError, ValueError, KeyError):
        return UNKNOWN


__version__ = installed_version()
