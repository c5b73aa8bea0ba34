"""Worker processes: messages both ways, and every way in which a process can end."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path

import pytest

from planners.core.worker_process import (
    LENGTH,
    MessageConnection,
    WorkerProcess,
    exit_text,
    group_bytes,
    shared_temporary,
)
from tests.alive import alive

MIB = 2**20


# ---- what workers of these tests do --------------------------------------------------------------


def echo(connection: MessageConnection) -> None:
    """Send back what comes, after what would be in its way on standard output."""
    while True:
        message = connection.receive()
        print("from Python", flush=True)
        os.write(1, b"from a solver\n")
        connection.send(message)


def reads_standard_input(connection: MessageConnection) -> None:
    connection.send(sys.stdin.read().encode() or b"nothing")


def dies(connection: MessageConnection) -> None:
    connection.send(b"last words")
    os._exit(7)


def dies_in_a_message(connection: MessageConnection) -> None:
    connection._outgoing.write(LENGTH.pack(10) + b"half")
    connection._outgoing.flush()
    os.kill(os.getpid(), signal.SIGSEGV)


def has_a_child(connection: MessageConnection) -> None:
    """Start a process that holds none of its pipes; tell its number, and never listen."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    connection.send(str(child.pid).encode())
    time.sleep(600)


def dies_before_its_child(connection: MessageConnection) -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    connection.send(str(child.pid).encode())
    os._exit(3)


def asks_for_far_too_much(connection: MessageConnection) -> None:
    with contextlib.suppress(MemoryError):
        bytearray(100 * 2**40)
    connection.send(b"still here")


def holds_much(connection: MessageConnection) -> None:
    """Hold 200 MiB in a process that it starts."""
    code = f"import time; held = b'x' * (200 * {MIB}); time.sleep(600)"
    subprocess.Popen([sys.executable, "-c", code])
    time.sleep(600)


def has_begun_one(connection: MessageConnection) -> None:
    """Start a worker of its own; tell the numbers of both."""
    worker = WorkerProcess(has_a_child)
    connection.send(str(worker.pid).encode() + b" " + worker.receive())
    time.sleep(600)


def writes_and_hangs(connection: MessageConnection) -> None:
    """Write a temporary file, as solvers do; tell where, and where such files of all are."""
    with tempfile.NamedTemporaryFile(delete=False) as file:
        connection.send(file.name.encode())
    connection.send(str(shared_temporary()).encode())
    time.sleep(600)


def begins_one_that_writes(connection: MessageConnection) -> None:
    """Start a worker of its own that writes, and tell what it tells."""
    worker = WorkerProcess(writes_and_hangs)
    for _ in range(2):
        connection.send(worker.receive())
    time.sleep(600)


# ---- the tests -----------------------------------------------------------------------------------


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.02)


@pytest.fixture
def started() -> Iterator[Callable[..., WorkerProcess]]:
    """What starts workers, which are ended after the test."""
    workers: list[WorkerProcess] = []

    def start(
        function: Callable[[MessageConnection], object], memory_bytes: int = 0
    ) -> WorkerProcess:
        workers.append(WorkerProcess(function, memory_bytes))
        return workers[-1]

    yield start
    for worker in workers:
        worker.end()
        assert not worker.running


def test_messages_of_any_size_come_back_whatever_is_printed_meanwhile(
    started: Callable[..., WorkerProcess], capfd: pytest.CaptureFixture[str]
) -> None:
    worker = started(echo)
    messages = [b"", b"\n\0", b"x" * 3_000_000]
    for message in messages:
        worker.send(message)
        assert worker.receive() == message
    out, err = capfd.readouterr()
    assert out == ""
    assert err.count("from Python") == err.count("from a solver") == 3


def test_a_worker_has_no_standard_input(started: Callable[..., WorkerProcess]) -> None:
    assert started(reads_standard_input).receive() == b"nothing"


def test_a_worker_that_dies_is_noticed_and_says_how(
    started: Callable[..., WorkerProcess],
) -> None:
    worker = started(dies)
    assert worker.receive() == b"last words"
    with pytest.raises(EOFError):
        worker.receive()
    worker.send(b"x" * MIB)  # It is lost: nobody waits for who does not read.
    worker.end()
    assert exit_text(worker.returncode) == "code 7"
    with pytest.raises(EOFError):
        worker.receive()


def test_a_message_cut_in_the_middle_is_the_end(started: Callable[..., WorkerProcess]) -> None:
    worker = started(dies_in_a_message)
    with pytest.raises(EOFError, match="4 of 10 bytes"):
        worker.receive()
    worker.end()
    assert exit_text(worker.returncode) == f"signal {signal.SIGSEGV}"


@pytest.mark.parametrize("cut", range(LENGTH.size + 5))
def test_a_stream_that_ends_anywhere_but_after_a_message_gives_none(cut: int) -> None:
    whole = LENGTH.pack(5) + b"hello"
    connection = MessageConnection(BytesIO(whole + whole[:cut]), BytesIO())
    assert connection.receive() == b"hello"
    with pytest.raises(EOFError):
        connection.receive()


def test_who_listens_hears_the_end_after_an_error_of_ones_own_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def deaf(_message: bytes) -> None:
        raise SystemError("of the interpreter")

    monkeypatch.setattr(threading, "excepthook", lambda _told: None)
    heard: list[bytes] = []
    for take in (heard.append, deaf):
        over = threading.Event()
        connection = MessageConnection(BytesIO((LENGTH.pack(2) + b"hi") * 2), BytesIO())
        connection.listen(take, over.set).join(60)
        assert over.is_set()
    assert heard == [b"hi", b"hi"]


def test_a_worker_is_killed_with_its_children(started: Callable[..., WorkerProcess]) -> None:
    worker = started(has_a_child)
    child = int(worker.receive())
    assert alive(child)
    worker.kill()
    until(lambda: not alive(child))
    with pytest.raises(EOFError):
        worker.receive()
    worker.end()
    worker.kill()  # Nothing is left of it: no other process is meant.
    assert exit_text(worker.returncode) == "signal 9"


def test_the_children_of_one_that_has_died_end_with_it(
    started: Callable[..., WorkerProcess],
) -> None:
    worker = started(dies_before_its_child)
    child = int(worker.receive())
    until(lambda: not worker.running)
    worker.end()
    until(lambda: not alive(child))
    assert exit_text(worker.returncode) == "code 3"


def test_workers_end_with_who_has_started_them(started: Callable[..., WorkerProcess]) -> None:
    """Though they do not listen, and with all that they have started."""
    first = started(has_begun_one)
    pids = [int(part) for part in first.receive().split()]
    assert all(map(alive, pids))
    os.kill(first.pid, signal.SIGKILL)
    until(lambda: not any(map(alive, pids)))


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of addresses holds on Linux")
def test_a_request_for_far_too_much_fails_and_the_worker_goes_on(
    started: Callable[..., WorkerProcess],
) -> None:
    assert started(asks_for_far_too_much, 100 * MIB).receive() == b"still here"


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_what_a_worker_holds_has_what_its_children_hold(
    started: Callable[..., WorkerProcess],
) -> None:
    worker = started(holds_much)
    until(lambda: worker.held_bytes > 200 * MIB)
    worker.end()
    until(lambda: group_bytes(worker.pid) == 0)


def test_a_worker_imports_nothing_that_its_function_does_not(
    started: Callable[..., WorkerProcess], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From wherever this process imports it."""
    (tmp_path / "from_elsewhere.py").write_text(
        "import sys\ndef told(connection):\n    connection.send(' '.join(sys.modules).encode())\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    from from_elsewhere import told  # type: ignore[import-not-found]

    modules = set(started(told).receive().decode().split())
    assert "from_elsewhere" in modules
    assert not modules & {"planners.core.graph", "numpy", "json", "pickle", "multiprocessing"}


@pytest.mark.parametrize("function", [writes_and_hangs, begins_one_that_writes])
def test_temporary_files_of_a_worker_go_with_it(
    function: Callable[[MessageConnection], object], started: Callable[..., WorkerProcess]
) -> None:
    """The models of solvers that were killed stayed on the server's disk."""
    worker = started(function)
    written = Path(worker.receive().decode())
    assert written.exists()
    assert worker.receive().decode() == tempfile.gettempdir()
    worker.kill()
    worker.end()
    assert not written.exists()


def test_temporary_files_go_where_whoever_started_the_worker_is_killed(tmp_path: Path) -> None:
    code = (
        "import sys, time; from planners.core.worker_process import WorkerProcess; "
        "from tests.core.test_worker_process import writes_and_hangs; "
        "worker = WorkerProcess(writes_and_hangs); print(worker.receive().decode(), flush=True); "
        "time.sleep(600)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    ) as process:
        assert process.stdout is not None
        written = Path(process.stdout.readline().strip())
        assert written.is_relative_to(tmp_path)
        process.kill()
    until(lambda: not list(tmp_path.iterdir()))


def test_a_worker_starts_where_there_is_no_room_for_its_folder(
    started: Callable[..., WorkerProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(**_: str) -> str:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "mkdtemp", full)
    worker = started(echo)
    worker.send(b"there")
    assert worker.receive() == b"there"
    worker.end()
    assert Path(tempfile.gettempdir()).exists()
