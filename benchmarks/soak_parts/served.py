"""A server with temporary files and a cache of its own, and what it and its processes hold."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MIB = 2**20
LEFT_BEHIND_S = 20.0


@dataclass(frozen=True, slots=True)
class Sample:
    """What there is at a moment: MiB, and numbers of things."""

    at_s: float
    server_mib: float
    workers_mib: float
    descriptors: int
    processes: int
    sessions: int
    files: int


class Served:
    """`panel serve` of the explorer with its usual limits."""

    def __init__(self, folder: Path, more: dict[str, str]) -> None:
        self.folder, self.log_path = folder, folder / "server.log"
        self.temporary, self.cache = folder / "tmp", folder / "cache"
        for made in (self.temporary, self.cache):
            made.mkdir(parents=True, exist_ok=True)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.address = f"http://localhost:{self.port}/main"
        panel = str(Path(sys.executable).with_name("panel"))
        self.log = self.log_path.open("wb")
        self.process = subprocess.Popen(
            [panel, "serve", "--setup", "app/setup.py", "app/main.py", "--port", str(self.port)],
            cwd=ROOT,
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "TMPDIR": str(self.temporary),
                "SPILLWAY_CACHE": str(self.cache),
                "SPILLWAY_REQUESTS": "1000000",  # all visitors have one address here
                **more,
            },
            stdout=self.log,
            stderr=subprocess.STDOUT,
        )
        self.began = time.monotonic()
        self._wait_until_up()

    def _wait_until_up(self) -> None:
        for _ in range(600):
            try:
                urllib.request.urlopen(self.address, timeout=60).close()
                return
            except OSError:
                time.sleep(0.2)
        raise RuntimeError(self.log_path.read_text()[-2000:])

    def sample(self) -> Sample:
        """What there is now."""
        pid, others = self.process.pid, [p for p in self.pids() if p != self.process.pid]
        return Sample(
            round(time.monotonic() - self.began, 1),
            round(resident_bytes(pid) / MIB, 1),
            round(sum(map(resident_bytes, others)) / MIB, 1),
            len(os.listdir(f"/proc/{pid}/fd")),
            1 + len(others),
            self.sessions(),
            sum(path.is_file() for path in self.temporary.rglob("*")),
        )

    def pids(self) -> list[int]:
        """The server and all that it has started: they know its folder for temporary files."""
        mark = f"TMPDIR={self.temporary}\0".encode()
        return [pid for pid in _all_pids() if mark in _environment(pid)]

    def sessions(self) -> int:
        """Sessions, by the server's own numbers; -1 where it does not say."""
        try:
            address = f"http://127.0.0.1:{self.port}/metrics"
            text = urllib.request.urlopen(address, timeout=60).read().decode()
        except OSError:
            return -1
        found = re.search(r"^spillway_sessions (\S+)", text, re.MULTILINE)
        return int(float(found[1])) if found else -1

    def end(self) -> list[str]:
        """Ask the server to end; what it left behind: processes, and temporary files."""
        self.process.terminate()
        hung = []
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            hung = ["the server itself, which did not end"]
            self.process.kill()
            self.process.wait()
        end = time.monotonic() + LEFT_BEHIND_S
        while (pids := self.pids()) and time.monotonic() < end:
            time.sleep(0.5)
        self.log.close()
        left = [*hung, *(f"process {pid}" for pid in pids)]
        files = [path for path in self.temporary.rglob("*") if path.is_file()]
        unfinished = [p for p in self.cache.rglob("*") if p.suffix in (".new", ".part", ".tmp")]
        return left + [str(path.relative_to(self.folder)) for path in (*files, *unfinished)]

    def complaints(self) -> list[str]:
        """Lines of the log that tell of an error."""
        lines = self.log_path.read_text("utf-8", "replace").splitlines()
        return [line for line in lines if re.search(r"Traceback|\bERROR\b|Exception", line)]


def resident_bytes(pid: int) -> int:
    """The memory that a process holds; 0 where it has ended."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


def _all_pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _environment(pid: int) -> bytes:
    """The environment that a process was started with; nothing where it has ended."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""
