"""What `auto` and its worker processes say to each other: pickled, each after its length.

Both ends are of one version and one user, over pipes of their own.
"""

from __future__ import annotations

import io
import pickle
import struct
from typing import IO, Any, NamedTuple

from planners.auto.attempts import FormOutcome, FormProblem, Key, Task
from planners.core.graph import Graph

LENGTH = struct.Struct("<Q")
GRAPH = "graph"


class DoTask(NamedTuple):
    """A task for a worker, and the best that is known."""

    task: Task
    to_beat: Key | None


class Beat(NamedTuple):
    """The best that is known is now this."""

    key: Key


class End(NamedTuple):
    """A worker is to end what it does with the best that it has."""

    number: int


class Ready(NamedTuple):
    """A worker can be asked."""


class Told(NamedTuple):
    """What a task reports."""

    task: Task
    stage: str


class Answered(NamedTuple):
    """A task's outcome; the plan, pickled, where it is better than the best known."""

    outcome: FormOutcome
    plan: bytes | None


def pickled(message: Any) -> bytes:
    """A message as it is sent."""
    return pickle.dumps(message, pickle.HIGHEST_PROTOCOL)


def send(pipe: IO[bytes], data: bytes) -> None:
    """Write a message. Raises `OSError` and `ValueError` where nobody reads any more."""
    pipe.write(LENGTH.pack(len(data)) + data)
    pipe.flush()


def receive(pipe: IO[bytes]) -> Any:
    """The next message. Raises `EOFError` where there is none, and where it is cut short."""
    head = pipe.read(LENGTH.size)
    if len(head) < LENGTH.size:
        raise EOFError
    (length,) = LENGTH.unpack(head)
    data = pipe.read(length)
    if len(data) < length:
        raise EOFError
    return pickle.loads(data)


class _Packer(pickle.Pickler):
    """Pickles a plan without the graph that both ends have."""

    def __init__(self, file: IO[bytes], graph: Graph) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._graph = graph

    def persistent_id(self, value: Any) -> str | None:
        return GRAPH if value is self._graph else None


class _Unpacker(pickle.Unpickler):
    def __init__(self, file: IO[bytes], graph: Graph) -> None:
        super().__init__(file)
        self._graph = graph

    def persistent_load(self, name: Any) -> Graph:
        return self._graph


def pack(value: Any, problem: FormProblem) -> bytes:
    """A value without the problem's graph."""
    file = io.BytesIO()
    _Packer(file, problem.graph).dump(value)
    return file.getvalue()


def unpack(data: bytes, problem: FormProblem) -> Any:
    """The value, with the problem's graph."""
    return _Unpacker(io.BytesIO(data), problem.graph).load()
