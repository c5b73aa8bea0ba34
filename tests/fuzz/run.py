"""Inputs by number, in child processes that are bounded in memory and time.

A child tells of each input before it reads it: where it dies or hangs, that input has failed, and
another child goes on behind it.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import os
import resource
import select
import signal
import traceback
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from time import process_time
from types import FrameType
from typing import Any

from tests.fuzz.corpus import inputs
from tests.fuzz.loaders import LOADERS, SHARES, USUAL, is_right, own_folder
from tests.fuzz.mutate import mutated

BATCH = 5000
RIGHT, REFUSED, FAILED = "right", "refused", "failed"


@dataclass(frozen=True)
class Bounds:
    """What one input may take: bytes beside what the program holds, and seconds of processor: of a
    busy machine nothing else is to fail. `grace_s` is of any clock: a child is killed that does
    nothing for so long, and does not even say that its time is up."""

    memory_bytes: int = 2**30
    time_s: float = 10.0
    grace_s: float = 300.0


@dataclass
class Tally:
    """How many inputs of a loader were right, refused and failed, and what each failure was; the
    most processor seconds and bytes that one took beside what the program held, and which did."""

    counts: dict[str, int] = field(default_factory=lambda: {RIGHT: 0, REFUSED: 0, FAILED: 0})
    failures: dict[int, str] = field(default_factory=dict)
    slowest: tuple[float, int] = (0.0, 0)
    largest: tuple[int, int] = (0, 0)

    def add(self, number: int, outcome: str, reason: str = "") -> None:
        self.counts[outcome] += 1
        if outcome == FAILED:
            self.failures[number] = reason

    def took(self, number: int, time_s: float, size_bytes: int) -> None:
        """Count what an answer took, a refusal too."""
        self.slowest = max(self.slowest, (time_s, number))
        self.largest = max(self.largest, (size_bytes, number))


class Progress:
    """How far a run came and what it found, by loader, in a file of JSON: it goes on from there."""

    def __init__(self, path: Path | None, seed: int) -> None:
        self.path, self.seed = path, seed

    def of(self, loader: str) -> tuple[Tally, int]:
        """What was found, and the first input that was not tried."""
        found = self._read().get(self._key(loader))
        if found is None:
            return Tally(), 0
        failures = {int(number): reason for number, reason in found["failures"].items()}
        most = {name: tuple(found[name]) for name in ("slowest", "largest")}
        return Tally(found["counts"], failures, **most), found["first"]

    def keep(self, loader: str, tally: Tally, first: int) -> None:
        """Write down what was found so far."""
        if self.path is None:
            return
        every = self._read() | {self._key(loader): {**asdict(tally), "first": first}}
        written = self.path.with_name(f"{self.path.name}.new")
        written.write_text(json.dumps(every), encoding="utf-8")
        written.replace(self.path)

    def _key(self, loader: str) -> str:
        return f"{loader}-{self.seed}"

    def _read(self) -> dict[str, Any]:
        if self.path is None or not self.path.exists():
            return {}
        return dict(json.loads(self.path.read_text(encoding="utf-8")))


class TooSlow(BaseException):
    """An input took longer than it may. No `Exception`: nobody is to catch it as one."""


def shares(loaders: list[str], count: int) -> dict[str, int]:
    """How many of all inputs each loader gets; `count` in all."""
    parts = {name: SHARES.get(name, USUAL) for name in loaders}
    given = {name: count * part // sum(parts.values()) for name, part in parts.items()}
    given[loaders[0]] += count - sum(given.values())
    return given


def made(loader: str, seed: int, number: int) -> bytes:
    """An input by its number; the first ones are the corpus as it is."""
    corpus = inputs(loader)
    if number < len(corpus):
        return corpus[number]
    rng = Random(f"{seed} {loader} {number}")
    return mutated(loader, rng.choice(corpus), rng)


def run(
    loader: str,
    count: int,
    seed: int,
    bounds: Bounds,
    folder: Path | None,
    kept: Path | None = None,
) -> Tally:
    """Try `count` inputs; those that fail are written to `folder`. Goes on from what is `kept`."""
    progress = Progress(kept, seed)
    tally, first = progress.of(loader)
    while first < count:
        stop = min(count, first + BATCH)
        first = _batch(loader, range(first, stop), seed, bounds, tally)
        progress.keep(loader, tally, first)
    for number, reason in tally.failures.items():
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{loader}-{seed}-{number}").write_bytes(made(loader, seed, number))
            (folder / f"{loader}-{seed}-{number}.why").write_text(reason, encoding="utf-8")
    return tally


def _batch(loader: str, numbers: range, seed: int, bounds: Bounds, tally: Tally) -> int:
    """Try inputs in one child; the number of the first that it did not come to."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _child(loader, numbers, seed, bounds, writing)
    os.close(writing)
    at = numbers.start
    for line in _lines(reading, bounds.grace_s):
        outcome, _, rest = line.partition(" ")
        if outcome in (RIGHT, REFUSED):
            tally.add(at, outcome)
            time_s, size = rest.split()
            tally.took(at, float(time_s), int(size))
            at += 1
        elif outcome == FAILED:
            tally.add(at, outcome, rest.replace("\\n", "\n"))
            at += 1
    os.close(reading)
    if at < numbers.stop:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if at < numbers.stop:
        code = os.waitstatus_to_exitcode(status)
        tally.add(at, FAILED, f"its process ended ({code}), or said nothing any more")
        at += 1
    return at


def _lines(reading: int, patience_s: float) -> Iterator[str]:
    """The lines of a child until it ends, or says nothing for too long."""
    held = b""
    while select.select([reading], [], [], patience_s)[0]:
        if not (data := os.read(reading, 1 << 16)):
            return
        *whole, held = (held + data).split(b"\n")
        yield from (line.decode("utf-8", "replace") for line in whole)


def _child(loader: str, numbers: range, seed: int, bounds: Bounds, writing: int) -> None:
    """Try inputs and tell of each; never returns."""
    code = 1
    try:
        faulthandler.disable()
        devnull = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(devnull, stream)
        with own_folder():
            warm(loader)
            _bound(bounds.memory_bytes)
            signal.signal(signal.SIGPROF, _ring)
            for number in numbers:
                os.write(writing, _tried(loader, seed, number, bounds.time_s).encode() + b"\n")
        code = 0
    finally:
        os._exit(code)


def _tried(loader: str, seed: int, number: int, time_s: float) -> str:
    data = made(loader, seed, number)
    held, since = _most_held(anew=True), process_time()
    signal.setitimer(signal.ITIMER_PROF, time_s)
    try:
        outcome = RIGHT if is_right(loader, data) else REFUSED
        return f"{outcome} {process_time() - since:.3f} {max(0, _most_held() - held)}"
    except BaseException:
        signal.setitimer(signal.ITIMER_PROF, 0)
        return f"{FAILED} {traceback.format_exc(limit=-12)[-3000:]}".replace("\n", "\\n")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _most_held(*, anew: bool = False) -> int:
    """The most bytes that this process has held, since it was last counted `anew`."""
    if anew:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


def warm(loader: str) -> None:
    """Import all that the loader needs, before memory is bounded."""
    for data in inputs(loader)[:1]:
        is_right(loader, data)


def _bound(more_bytes: int) -> None:
    """Let this process take so much more memory than it has, when garbage is given back."""
    gc.collect()
    gc.freeze()  # What a process of many tests holds is not gone through again for an input.
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    most = pages * resource.getpagesize() + more_bytes
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _ring(_: int, frame: FrameType | None) -> None:
    raise TooSlow


def known(only: str | None) -> list[str]:
    """The loaders that are asked for. Raises `KeyError` for a name that is none."""
    return list(LOADERS) if only is None else [name for name in only.split(",") if LOADERS[name]]
