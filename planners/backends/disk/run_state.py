"""A run in time: what each engine has ended, who waits for what, and how a run is stopped."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Literal

from planners.backends.disk.gates import Gate
from planners.backends.disk.layout import DiskLayout
from planners.core.errors import BadInput, SpillwayError

Engine = Literal["read", "copy", "kernel"]
ENGINES: tuple[Engine, ...] = ("read", "copy", "kernel")
_LOOK_S = 0.2


class Stopped(SpillwayError):
    """The run has failed elsewhere: this thread has nothing more to do."""


class Course:
    """Counts of ended reads, copies and kernels, and when each began and ended, in seconds.

    The first failure is kept; every wait ends with `Stopped` after it. A request to storage that
    takes longer than `stall_s` is a failure.
    """

    def __init__(self, names: Sequence[str], sizes: Sequence[int], path: str, stall_s: float):
        self.names, self.sizes, self.path, self.stall_s = names, sizes, path, stall_s
        self.began = time.perf_counter()
        self.spans: dict[Engine, list[tuple[float, float]]] = {
            engine: [(0.0, 0.0)] * len(names) for engine in ENGINES
        }
        self.failure: BaseException | None = None
        self._ended: dict[Engine, int] = dict.fromkeys(ENGINES, 0)
        self._changed = threading.Condition()
        self._request: tuple[int, int, float] | None = None  # layer, bytes read, since

    @staticmethod
    def for_layout(layout: DiskLayout, path: str, stall_s: float) -> Course:
        """A course of a layout's layers, from now on."""
        names = [layer.name for layer in layout.layers]
        sizes = [layer.size_bytes for layer in layout.layers]
        return Course(names, sizes, path, stall_s)

    def now(self) -> float:
        """Seconds since the run began."""
        return time.perf_counter() - self.began

    def wait(self, gate: Gate) -> None:
        """Until that many have ended. Raises `Stopped` where the run has failed."""
        with self._changed:
            while not self._open(gate):
                self._changed.wait(_LOOK_S)
                self._look()

    def _open(self, gate: Gate) -> bool:
        if self.failure is not None:
            raise Stopped("the run has failed")
        return all(self._ended[e] >= need for e, need in zip(ENGINES, gate, strict=True))

    def _look(self) -> None:
        """Fail where storage has not answered for too long. The lock is held."""
        if self._request is None or self.failure is not None:
            return
        layer, done, since = self._request
        if time.perf_counter() - since > self.stall_s:
            self.failure = BadInput(
                f"{self.path}: storage has not answered for {self.stall_s:g} s, at layer "
                f"{self.names[layer]!r:.80} with {done} of {self.sizes[layer]} bytes read"
            )
            self._changed.notify_all()

    def requesting(self, layer: int, done: int) -> None:
        """A request to storage begins. Raises `Stopped` where the run has failed."""
        with self._changed:
            if self.failure is not None:
                raise Stopped("the run has failed")
            self._request = (layer, done, time.perf_counter())

    def answered(self) -> None:
        """No request is under way."""
        with self._changed:
            self._request = None

    def ended(self, engine: Engine, layer: int, start_s: float | None = None) -> None:
        """A layer's read, copy or kernel has ended; without a start it took no time."""
        now = self.now()
        with self._changed:
            self.spans[engine][layer] = (now if start_s is None else start_s, now)
            self._ended[engine] = layer + 1
            self._changed.notify_all()

    def fail(self, error: BaseException) -> None:
        """Stop the run, unless it is stopped already."""
        with self._changed:
            if self.failure is None:
                self.failure = error
            self._changed.notify_all()

    def held_bytes(self) -> int:
        """The most bytes of layers in rings at once, from the read's start to the kernel's end."""
        events = []
        for layer, size in enumerate(self.sizes):
            if size:
                events.append((self.spans["read"][layer][0], size))
                events.append((self.spans["kernel"][layer][1], -size))
        most = total = 0
        for _, change in sorted(events):
            total += change
            most = max(most, total)
        return most
