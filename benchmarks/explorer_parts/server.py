"""A server process of its own, as a person starts it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Self

ROOT = Path(__file__).resolve().parents[2]


class Server:
    """`panel serve` of the explorer, or of another page, on a free port until the `with` ends.

    Its cache is empty: what is measured is planned, and known only once it was.
    """

    def __init__(self, page: str = "app/main.py", root: Path = ROOT) -> None:
        """`root`: the checkout that is served."""
        self.page, self.root = page, root

    def __enter__(self) -> Self:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        self.cache = tempfile.TemporaryDirectory(prefix="spillway-bench-")
        self.log = tempfile.NamedTemporaryFile("w", suffix=".log")
        self.process = subprocess.Popen(
            [
                str(Path(sys.executable).with_name("panel")),
                "serve",
                self.page,
                f"--port={port}",
            ],
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": str(self.root), "SPILLWAY_CACHE": self.cache.name},
            stdout=self.log,
            stderr=subprocess.STDOUT,
        )
        self.address = f"http://localhost:{port}/{Path(self.page).stem}"
        for _ in range(300):
            try:
                urllib.request.urlopen(self.address, timeout=60).close()
                return self
            except OSError:
                time.sleep(0.2)
        raise RuntimeError(Path(self.log.name).read_text()[-2000:])

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.process.terminate()
        self.process.wait(20)
        self.cache.cleanup()
        said = Path(self.log.name).read_text()
        if "Traceback" in said:
            print(said[-3000:], file=sys.stderr)

    def processor_s(self) -> float:
        """Seconds of processor that the server has used, its workers apart."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident_mib(self) -> float:
        """What the server holds of memory, its workers apart, in MiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1024
