"""Planning processes that begin at once: copies of one that has imported everything already.

A real one takes a second of processor to import the library. `Nursery` starts a process that has
done so and waits; for each worker that a pool starts it forks a copy, with the environment, the
pipes and the process group of a real one. Tests of how a process begins or ends have real ones.
What only some workers need (`DRAWING`, `TRACING`) it imports once a test asks for it.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import Any

BEGUN = struct.Struct("=q")
MOST = 2**17
DRAWING = "from tests.app.nursery import draw; draw()"
TRACING = "from tests.app.nursery import trace; trace()"


class Copied:
    """A worker's process as `subprocess.Popen` shows it: id, pipes, and its end."""

    def __init__(self, nursery: Nursery, code: str, environment: Mapping[str, str]) -> None:
        there, stdin = os.pipe()
        stdout, said = os.pipe()
        self._ends, told = os.pipe()
        nursery.ask(code, environment, [there, said, told])
        for end in (there, said, told):
            os.close(end)
        self.stdin = os.fdopen(stdin, "wb")
        self.stdout = os.fdopen(stdout, "rb")
        self.pid = self._told()
        self.returncode: int | None = None
        self._lock = threading.Lock()

    def _told(self) -> int:
        data = os.read(self._ends, BEGUN.size)
        number: int = BEGUN.unpack(data)[0]
        return number

    def wait(self) -> int:
        with self._lock:
            if self.returncode is None:
                self.returncode = self._told()
                os.close(self._ends)
            return self.returncode


class Nursery:
    """The process that copies are made of."""

    def __init__(self) -> None:
        self._line, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._lock = threading.Lock()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.app.nursery", str(other.fileno())],
            pass_fds=[other.fileno()],
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )
        other.close()
        self._prepared: set[str] = set()

    def prepare(self, code: str = "") -> bool:
        """Have it run code, once, of which all later copies have the benefit; wait until then.

        Whether it had not run before.
        """
        if code in self._prepared:
            return False
        self._prepared.add(code)
        done, there = os.pipe()
        self.ask(code, os.environ, [there])
        os.close(there)
        os.read(done, 1)
        os.close(done)
        return True

    def ask(self, code: str, environment: Mapping[str, str], pipes: list[int]) -> None:
        """Have a worker begin with these as its input, its output, and who is told of its end."""
        with self._lock:
            socket.send_fds(self._line, [json.dumps([code, dict(environment)]).encode()], pipes)

    def popen(self, command: list[str], **how: Any) -> Any:
        """As `subprocess.Popen` does for `planners.core.worker_process`."""
        if "app.jobs.worker:main" not in command[-1]:
            return subprocess.Popen(command, **how)
        return Copied(self, command[-1], how["env"])

    def close(self) -> None:
        self._line.close()
        self.process.wait()


def serve(line: socket.socket) -> None:
    """Make copies for as long as somebody may ask."""
    while True:
        data, pipes, _, _ = socket.recv_fds(line, MOST, 3)
        if not data:
            return
        if len(pipes) == 1:
            get_ready(json.loads(data)[0])
        elif os.fork() == 0:
            line.close()
            keep(*json.loads(data), *pipes)
        for pipe in pipes:
            os.close(pipe)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                """Who has kept a worker until its end."""


def keep(code: str, environment: dict[str, str], there: int, said: int, told: int) -> None:
    """Have a worker begin, and tell how it ends."""
    worker = os.fork()
    if worker == 0:
        begin(code, environment, there, said, told)
    for pipe in (there, said):
        os.close(pipe)
    ended = os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1])
    with contextlib.suppress(OSError):
        os.write(told, BEGUN.pack(ended))
    os._exit(0)


def begin(code: str, environment: dict[str, str], there: int, said: int, told: int) -> None:
    """Be a worker: all that `Popen` would have set, then the code of its command."""
    os.setsid()
    os.write(told, BEGUN.pack(os.getpid()))
    os.close(told)
    for pipe, place in ((there, 0), (said, 1)):
        os.dup2(pipe, place)
        os.close(pipe)
    os.environ.clear()
    os.environ.update(environment)
    paths = environment.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:0] = [path for path in paths if path not in sys.path]
    failed = 1
    try:
        exec(code)
        failed = 0
    finally:
        os._exit(failed)


def get_ready(code: str = "") -> None:
    """Import all that nearly every worker needs, and run the code."""
    from app.jobs import worker
    from app.jobs.protocol import HANDLERS
    from planners.core.registry import OURS, planners

    for kind in HANDLERS.keys() - {"export"}:  # which is seldom, and draws
        worker.handler(kind)
    for name, *_ in OURS:
        assert planners()[name].options
        planners()[name].function()
    exec(code, {})
    planners.cache_clear()  # A copy finds those of its own path.
    worker.versions()


def draw() -> None:
    """What a worker does that draws a page for the first time."""
    import planners as sp
    from app.jobs import worker
    from app.outputs.standalone import page_html, seen_of
    from tests.app.networks import beginning

    worker.handler("export")
    page_html(seen_of(sp.plan(beginning("squeezenet1_1", "conv2d_1"))))


def trace() -> None:
    """What a worker does that has torch trace a network for the first time."""
    import torch
    from torch import nn

    import planners as sp

    for granularity in ("fused", "aten"):
        sp.from_torch(nn.Conv2d(3, 4, 3), (torch.zeros(1, 3, 8, 8),), granularity=granularity)


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    get_ready()
    serve(socket.socket(fileno=int(sys.argv[1])))


if __name__ == "__main__":
    main()
