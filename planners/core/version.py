"""Which version of Spillway this is: the installed one, else that in `pyproject.toml`."""

from __future__ import annotations

import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def installed_version() -> str:
    """The version, as `pyproject.toml` has it; `unknown` for a copy of the packages alone."""
    try:
        return version("spillway")
    except PackageNotFoundError:
        return written_version(Path(__file__).parents[2] / "pyproject.toml")


def written_version(path: Path) -> str:
    """The version in a `pyproject.toml`; `unknown` where there is none."""
    try:
        return str(tomllib.loads(path.read_text(encoding="utf-8"))["project"]["version"])
    except (OSError, ValueError, KeyError):
        return "unknown"
