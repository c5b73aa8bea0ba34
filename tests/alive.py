"""Whether a process runs, for tests of how processes end."""

from __future__ import annotations

import subprocess
from pathlib import Path


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended but is not yet reaped does not."""
    if Path("/proc/self/stat").exists():
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            return False
    else:
        command = ["ps", "-o", "stat=", "-p", str(pid)]
        state = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    return state[:1] not in ("", "Z")
