"""Imported graphs on disk, content-addressed; an unusable cache costs time and nothing else."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import os
import sys
import warnings
import zlib
from functools import cache
from pathlib import Path
from typing import Any

from planners.core.errors import BadInput
from planners.core.graph import Graph
from planners.core.sources import source_hash

READERS = ("catalogue", "core", "importers")
"""The rooms of the library that decide as which graph a model is imported."""

_warned: set[str] = set()


def directory() -> Path:
    """Where graphs are kept: `SPILLWAY_CACHE`, else the user's cache directory."""
    if named := os.environ.get("SPILLWAY_CACHE"):
        return Path(named)
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base) / "spillway"
    home = Path(os.path.expanduser("~"))
    return home / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "spillway"


def key(name: str, shapes: Any, granularity: str, fold_padding: bool) -> str:
    """A hash of all that decides the graph: the model, its inputs, and who traced it."""
    packages = {p: _version(p) for p in ("torch", "torchvision", "timm")}
    parts = [name, shapes, granularity, fold_padding, _readers(), packages]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


@cache
def _readers() -> str:
    return source_hash(Path(__file__).parents[1], READERS, (".py",))


def get(entry: str) -> Graph | None:
    """The graph kept under a key; None where there is none, or none that can be read."""
    try:
        return decode((directory() / f"{entry}.json.gz").read_bytes())
    except (OSError, BadInput):
        return None


def put(entry: str, graph: Graph) -> None:
    """Keep a graph under a key, whole or not at all; warn once where that cannot be done."""
    import tempfile

    place = directory()
    try:
        place.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=place, prefix=".writing-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(encode(graph))
            os.replace(name, place / f"{entry}.json.gz")
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
    except OSError as error:
        if str(place) not in _warned:
            _warned.add(str(place))
            text = f"graphs are not cached: cannot write {place} ({error.strerror})"
            warnings.warn(text, stacklevel=3)


def encode(graph: Graph) -> bytes:
    """A graph as compressed JSON, the same bytes every time."""
    text = json.dumps(graph.to_json(), separators=(",", ":"))
    return gzip.compress(text.encode(), compresslevel=9, mtime=0)


def decode(data: bytes) -> Graph:
    """The graph that `encode` wrote. Raises `BadInput` for anything else."""
    try:
        return Graph.from_json(json.loads(gzip.decompress(data)))
    except (OSError, EOFError, zlib.error, ValueError, RecursionError) as error:
        raise BadInput(f"not a compressed graph: {error}") from error


def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return ""
