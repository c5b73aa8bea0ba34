"""Results of workers, on disk by request, so that nothing is planned twice.

An entry is a worker's answer to one request, as lines of JSON in gzip, whose checksum reveals a
truncated file. Its name is a hash of all that decides the answer: the graph (an uploaded one by its
text, a catalogue model by its name, shape and the sources and packages that import it), the
planner, options, machine, budget and our own sources. What is proven to be best is kept for any
time limit, the rest for its own. Entries used longest ago are removed first. Nothing here is
unpickled.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import os
import platform
import tempfile
import time
import warnings
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import planners as sp
from app.jobs.protocol import Request
from app.model.paths import ROOT
from planners.catalogue.cache import directory
from planners.core.sources import source_hash
from planners.core.units import parse_size

FORMAT = 2
USUAL_SIZE = "512 MiB"
SIZE_NAME = "SPILLWAY_CACHE_SIZE"
SUFFIX = ".result.gz"
ROOM = 0.9  # of the most bytes: how much is left when old entries are removed
ABANDONED_S = 3600.0
SOURCES = (".py", ".toml", ".json", ".gz", ".txt", ".c", ".h")
PACKAGES = ("torch", "torchvision", "timm", "onnx", "ortools", "highspy", "pulp", "numpy", "scipy")
_warned: set[str] = set()


@dataclass(frozen=True, slots=True)
class KeptResult:
    """An entry: the lines that a worker wrote, the seconds it took, and when it was written (since
    1970)."""

    lines: tuple[str, ...]
    took_s: float
    at: float


class ResultStore:
    """A folder of at most `most_bytes`; several servers and workers may use it at once."""

    def __init__(self, folder: Path, most_bytes: int) -> None:
        self.folder, self.most_bytes = folder, most_bytes

    def path(self, key: str) -> Path:
        """Where the entry of a key is, if there is one."""
        return self.folder / (key + SUFFIX)

    def find(self, request: Request) -> Path | None:
        """The entry that answers a request, unless there is none."""
        if not self.most_bytes:
            return None
        paths = (self.path(key) for key in keys(request))
        return next((path for path in paths if path.is_file()), None)

    def read(self, path: Path) -> KeptResult | None:
        """An entry, which counts as used; one that cannot be read is removed, and None."""
        try:
            head, *lines = gzip.decompress(path.read_bytes()).decode("utf-8").splitlines()
            header = json.loads(head)
            entry = KeptResult(tuple(lines), float(header["took_s"]), float(header["at"]))
            if header["format"] != FORMAT or len(lines) != header["lines"]:
                raise ValueError("of another format")
        except FileNotFoundError:
            return None
        except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError, RecursionError):
            drop(path)
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return entry

    def recall(self, request: Request) -> KeptResult | None:
        """What is known of a request."""
        path = self.find(request)
        return None if path is None else self.read(path)

    def keep(
        self, request: Request, lines: Sequence[str], took_s: float, *, proven: bool = False
    ) -> None:
        """Keep an answer, whole or not at all; warn once where it cannot be written.

        `proven`: more time would change nothing.
        """
        if not self.most_bytes:
            return
        head = {"format": FORMAT, "took_s": took_s, "at": time.time(), "lines": len(lines)}
        text = "\n".join([json.dumps(head), *lines])
        data = gzip.compress(text.encode(), compresslevel=1)
        if len(data) > self.most_bytes:
            return
        timed, timeless = keys(request)
        try:
            self._write(self.path(timeless if proven else timed), data)
            self._make_room()
        except OSError as error:
            if str(self.folder) not in _warned:
                _warned.add(str(self.folder))
                line = f"plans are not kept: cannot write {self.folder} ({error.strerror})"
                warnings.warn(line, stacklevel=2)

    def _write(self, path: Path, data: bytes) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=self.folder, prefix=".writing-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(name, path)
        except BaseException:
            drop(Path(name))
            raise

    def _make_room(self) -> None:
        """Remove the entries used longest ago, and files that a killed process left half
        written."""
        kept: list[tuple[float, int, Path]] = []
        for entry in os.scandir(self.folder):
            with contextlib.suppress(FileNotFoundError):  # another process may remove it first
                stat = entry.stat()
                if entry.name.endswith(SUFFIX):
                    kept.append((stat.st_mtime, stat.st_size, Path(entry.path)))
                elif time.time() - stat.st_mtime > ABANDONED_S:
                    drop(Path(entry.path))
        held_bytes = sum(size for _, size, _ in kept)
        if held_bytes <= self.most_bytes:
            return
        for _, size, path in sorted(kept):
            if held_bytes <= self.most_bytes * ROOM:
                return
            drop(path)
            held_bytes -= size


def drop(path: Path) -> None:
    """Remove a file; another process may have done so."""
    with contextlib.suppress(OSError):
        path.unlink()


def results() -> ResultStore:
    """The folder of this user: beside the graphs, at most `SPILLWAY_CACHE_SIZE`; 0 keeps none."""
    named = os.environ.get(SIZE_NAME, USUAL_SIZE)
    try:
        size = 0 if named.strip() == "0" else parse_size(named)
    except sp.SpillwayError as error:
        size = parse_size(USUAL_SIZE)
        if named not in _warned:
            _warned.add(named)
            warnings.warn(f"{SIZE_NAME}: {error}; {USUAL_SIZE} is taken", stacklevel=2)
    return ResultStore(directory() / "results", size)


def keys(request: Request) -> tuple[str, str]:
    """The names of a request's entries: for its time limit, and for any."""
    problem = request.problem
    rest = {name: value for name, value in problem.items() if name != "time_limit"}
    planner = _planner(str(problem.get("planner", "")))
    parts = [request.kind, rest, request.more, versions(), planner]
    return _digest([*parts, problem.get("time_limit")]), _digest(parts)


def _digest(parts: Iterable[Any]) -> str:
    text = json.dumps(list(parts), sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def versions() -> str:
    """A hash of our sources and stored graphs, and of the packages that affect the results."""
    digest = hashlib.sha256(platform.python_version().encode())
    digest.update(source_hash(ROOT, ("planners", "app"), SOURCES).encode())
    for package in PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            digest.update(f"{package} {version(package)}\n".encode())
    return digest.hexdigest()


@cache
def _planner(name: str) -> str:
    """A hash of the source of a third-party planner; ours are in `versions`."""
    info = sp.planners().get(name)
    if info is None or info.target.startswith("planners."):
        return name
    try:
        spec = find_spec(info.target.partition(":")[0])
        return hashlib.sha256(Path(str(spec and spec.origin)).read_bytes()).hexdigest()
    except (OSError, ImportError, ValueError):
        return f"{name} {time.time()}"  # never equal: what cannot be read is never taken as known
