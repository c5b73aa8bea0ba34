"""Many pages asked for in one moment: does the server still answer its health check?

    python benchmarks/flood.py [--pages 200] [--places 64]

Serves the explorer as `panel serve` does, asks for the pages at once, from as many connections, and
asks for `/health` ten times a second until all are answered.
"""

from __future__ import annotations

import argparse
import http.client
import os
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EVERY_S = 0.1
FIRST_S = 5.0
"""The first page of a server imports and makes what all pages have in common: some two seconds,
within which it answers nothing else."""


def asked(port: int, path: str) -> tuple[int, float]:
    """The status of an answer, and the seconds that it took; 0 where there was none."""
    begun = time.monotonic()
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    try:
        line.request("GET", path)
        answer = line.getresponse()
        answer.read()
        return answer.status, time.monotonic() - begun
    except OSError:
        return 0, time.monotonic() - begun
    finally:
        line.close()


def served(places: int) -> tuple[subprocess.Popen[bytes], int]:
    """A server that is up, and its port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    panel = Path(sys.executable).with_name("panel")
    command = [panel, "serve", "--setup", "app/setup.py", "app/main.py", "--port", str(port)]
    process = subprocess.Popen(
        [str(part) for part in command],
        cwd=ROOT,
        env={**os.environ, "SPILLWAY_SESSIONS": str(places)},
        stderr=subprocess.DEVNULL,
    )
    while asked(port, "/health")[0] != 200:
        time.sleep(EVERY_S)
    asked(port, "/main")
    time.sleep(FIRST_S)
    return process, port


def flood(port: int, pages: int) -> tuple[list[tuple[int, float]], list[tuple[int, float]]]:
    """The answers to that many requests for the page, and those of `/health` meanwhile."""
    answers: list[tuple[int, float]] = []
    visitors = [
        threading.Thread(target=lambda: answers.append(asked(port, "/main"))) for _ in range(pages)
    ]
    for visitor in visitors:
        visitor.start()
    healthy = []
    while any(visitor.is_alive() for visitor in visitors):
        healthy.append(asked(port, "/health"))
        time.sleep(EVERY_S)
    return answers, healthy


def main() -> None:
    """Ask, and print what was answered."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=200)
    parser.add_argument("--places", type=int, default=64, help="SPILLWAY_SESSIONS")
    given = parser.parse_args()
    process, port = served(given.places)
    try:
        answers, healthy = flood(port, given.pages)
        end = time.monotonic() + 20
        while time.monotonic() < end:  # what is on the pages would be made now
            healthy.append(asked(port, "/health"))
            time.sleep(EVERY_S)
    finally:
        process.terminate()
        process.wait(30)
    statuses = ", ".join(f"{n} x {s}" for s, n in sorted(Counter(s for s, _ in answers).items()))
    print(
        f"{given.pages} pages at once: {statuses}; the last after {max(answers, key=slow)[1]:.1f} s"
    )
    worst = max(healthy, key=slow)[1]
    well = sum(status == 200 for status, _ in healthy)
    print(f"/health meanwhile: {well} of {len(healthy)} were 200, the slowest took {worst:.2f} s")


def slow(answer: tuple[int, float]) -> float:
    """The seconds of an answer."""
    return answer[1]


if __name__ == "__main__":
    main()
