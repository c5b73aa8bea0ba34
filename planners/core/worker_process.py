"""Worker processes: how they are started, talked to, bounded in memory, and ended.

A worker is a fresh interpreter that runs one function, in a session of its own: it ends together
with every process that it has started, and by itself when the process that started it is gone.
Messages are bytes, each after its length; what they mean is left to both ends, and nothing is
unpickled here.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import IO

from planners.core.reading_limits import limit_worker

LENGTH = struct.Struct("<Q")
ADDRESSES = 64 * 2**30
"""Libraries reserve addresses that they never use: the address limit is this much higher."""
SHARED = "SPILLWAY_SHARED_TMPDIR"
"""In a worker, the folder of temporary files of whoever started the first one."""


def shared_temporary() -> Path:
    """The folder of temporary files that a process has in common with its workers."""
    return Path(os.environ.get(SHARED) or tempfile.gettempdir())


class MessageConnection:
    """Messages to another process and from it, over two pipes. Any thread may send."""

    def __init__(self, incoming: IO[bytes], outgoing: IO[bytes]) -> None:
        self._incoming, self._outgoing = incoming, outgoing
        self._sending = threading.Lock()

    def send(self, message: bytes) -> None:
        """Send a message; it is lost where nobody reads any more, which `receive` reports."""
        with self._sending, contextlib.suppress(OSError, ValueError):
            self._outgoing.write(LENGTH.pack(len(message)) + message)
            self._outgoing.flush()

    def receive(self) -> bytes:
        """Wait for the next message.

        Raises `EOFError` where the other process is gone, in the middle of a message too.
        """
        try:
            (length,) = LENGTH.unpack(self._read(LENGTH.size))
            return self._read(length)
        except (OSError, ValueError) as error:
            raise EOFError("the connection is closed") from error

    def _read(self, count: int) -> bytes:
        data = self._incoming.read(count)
        if len(data) < count:
            raise EOFError(f"the other process is gone: {len(data)} of {count} bytes came")
        return data

    def listen(
        self, take: Callable[[bytes], object], ended: Callable[[], object] = lambda: None
    ) -> threading.Thread:
        """Call `take` with each message as it comes, in a thread of its own, which is returned.

        `ended` is called once there are no more, whatever the reason: an error of `take` too.
        """

        def read() -> None:
            try:
                with contextlib.suppress(EOFError):
                    while True:
                        take(self.receive())
            finally:
                ended()

        thread = threading.Thread(target=read, daemon=True)
        thread.start()
        return thread


class WorkerProcess(MessageConnection):
    """A process that runs one function of a module with its end of the connection."""

    def __init__(
        self, function: Callable[[MessageConnection], object], memory_bytes: int = 0
    ) -> None:
        """Start it; it imports what this process could import, and nothing before it needs it.

        A request for far more than `memory_bytes` raises `MemoryError` in it, on Linux; 0 is no
        limit. Raises `OSError` where no process can be made.
        """
        target = f"{function.__module__}:{function.__name__}"
        paths = [path or os.getcwd() for path in sys.path]
        paths += filter(None, [os.environ.get("PYTHONPATH")])
        self._temporary = _folder()
        told = f"{target!r}, {memory_bytes}, {self._temporary!r}"
        code = f"from {__name__} import work; work({told})"
        own = {
            "PYTHONPATH": os.pathsep.join(paths),
            "TMPDIR": self._temporary or tempfile.gettempdir(),
            SHARED: str(shared_temporary()),
        }
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", code],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, **own},
                start_new_session=True,  # setsid: what it starts ends with it
            )
        except OSError:
            shutil.rmtree(self._temporary, ignore_errors=True)
            raise
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        super().__init__(self._process.stdout, self._process.stdin)
        self.pid, self._ended = self._process.pid, False

    def receive(self) -> bytes:
        """As for any connection; where the worker is gone, so is then all that it has started."""
        try:
            return super().receive()
        except EOFError:
            self.kill()  # a solver may outlive the worker that started it
            raise

    @property
    def held_bytes(self) -> int:
        """Bytes that it and the processes that it has started hold; see `group_bytes`."""
        return group_bytes(self.pid)

    @property
    def running(self) -> bool:
        """Whether it has not ended yet, by itself or otherwise."""
        return self._process.poll() is None

    @property
    def returncode(self) -> int:
        """How it has ended, as `Popen.returncode`; `end` it before."""
        assert self._process.returncode is not None
        return self._process.returncode

    def kill(self) -> None:
        """End it with all that it has started; does not wait for that."""
        if not self._ended:  # later its number may be another's
            with contextlib.suppress(OSError):
                os.killpg(self.pid, signal.SIGKILL)

    def end(self) -> None:
        """Kill it if it runs yet, wait until it is gone, close the connection, and remove its
        temporary files: a solver that is killed leaves its own.

        To be called for every worker; again it does nothing.
        """
        self.kill()
        self._process.wait()
        self._ended = True
        shutil.rmtree(self._temporary, ignore_errors=True)
        for pipe in (self._outgoing, self._incoming):
            with contextlib.suppress(OSError):
                pipe.close()


def _folder() -> str:
    """A new folder for temporary files; none ("") where there is no room for one."""
    try:
        return tempfile.mkdtemp(prefix="spillway-worker-")
    except OSError:
        return ""


def exit_text(code: int) -> str:
    """How a process has ended, with this `Popen.returncode`: `signal 9`, `code 1`."""
    return f"signal {-code}" if code < 0 else f"code {code}"


# ---- in the worker -------------------------------------------------------------------------------


def work(target: str, memory_bytes: int, temporary: str) -> None:
    """In a worker: run a function, `module:name`, with the connection to who has started it, and a
    folder of its own for temporary files.

    The pipes that were standard input and output are for messages alone: what a solver prints goes
    to standard error.
    """
    _end_with_parent(temporary)
    _limit_addresses(memory_bytes)
    limit_worker(memory_bytes)
    connection = MessageConnection(os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb"))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    module, _, name = target.partition(":")
    with contextlib.suppress(EOFError):
        getattr(import_module(module), name)(connection)


def _end_with_parent(temporary: str) -> None:
    """Leave behind a process that removes the temporary files and ends the whole group once nobody
    can write to its input any more.

    A thread would not do: a solver may keep this process so busy that it gets no turn, or outlive
    it.
    """
    if os.fork():
        return
    os.close(1)  # or the parent would not see that the worker has ended
    gone = select.poll()
    gone.register(0, 0)  # an event only when the other end is closed
    gone.poll()
    shutil.rmtree(temporary, ignore_errors=True)
    os.killpg(os.getpgrp(), signal.SIGKILL)


def _limit_addresses(memory_bytes: int) -> None:
    """Make a request for far too much memory fail, so that it costs no more than its job."""
    if memory_bytes and sys.platform == "linux":
        import resource

        most = memory_bytes + ADDRESSES
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_AS, (most, most))


# ---- what processes hold -------------------------------------------------------------------------


def group_bytes(group: int) -> int:
    """Bytes that the processes of a group hold; 0 where the system does not say."""
    return sum(process_bytes(process) for process in _processes() if _group(process) == group)


def process_bytes(process: int) -> int:
    """Resident bytes that are a process's own: pages of shared libraries are not counted."""
    try:
        _, resident, shared, *_ = map(int, Path(f"/proc/{process}/statm").read_text().split())
    except (OSError, ValueError):
        return 0
    return (resident - shared) * os.sysconf("SC_PAGE_SIZE")


def _processes() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []


def _group(process: int) -> int:
    """Its group, asked of the system: it is asked of all processes, several times a second."""
    try:
        return os.getpgid(process)
    except OSError:
        return 0
