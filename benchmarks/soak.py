"""Visitors who do at random what people might, for minutes or hours: does the server last?

    python benchmarks/soak.py [--visitors 10] [--minutes 60] [--pause 5] [--out soak.svg]

Serves the explorer as `panel serve` does. Each visitor opens pages of random links over a web
socket of its own, presses, chooses, types, drops files and leaves without a word, again and again.
Prints the answers' seconds and what was done; then, with all visitors gone, what the server holds,
and what it left behind when it was ended. The picture has memory, descriptors, processes, sessions
and temporary files over time. Ends with 1 where anything failed or was left.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from random import Random

from soak_parts.picture import svg
from soak_parts.served import Sample, Served
from soak_parts.walker import Tally, beat, stroll

EVERY_S = 5.0
QUIET_S = 60.0
"""Sessions end some 15 to 32 seconds after their visitors have left."""


async def watch(served: Served, over: Callable[[], bool], samples: list[Sample], out: Path) -> None:
    """Take samples until all is over, and keep the picture up to date."""
    while not over():
        samples.append(await asyncio.to_thread(served.sample))
        if len(samples) > 1:
            out.write_text(svg(samples, out.stem), "utf-8")
        await asyncio.sleep(EVERY_S)


async def soak(served: Served, asked: argparse.Namespace, samples: list[Sample]) -> Tally:
    """Let visitors come and go; when they are gone, watch for a while what stays."""
    end, tally = time.monotonic() + 60 * asked.minutes, Tally()

    def over() -> bool:
        return time.monotonic() > end

    def quiet() -> bool:
        return time.monotonic() > end + QUIET_S

    await asyncio.gather(
        watch(served, quiet, samples, asked.out),
        beat(served.address, over, tally),
        *(
            stroll(served.address, Random(f"{asked.seed} {k}"), asked.pause, over, tally)
            for k in range(asked.visitors)
        ),
    )
    return tally


def told(tally: Tally) -> None:
    """Print what visitors met."""
    print(f"{'':<22}{'number':>8}{'median':>9}{'99 %':>9}{'slowest':>9}")
    for kind, values in sorted(tally.seconds.items()):
        ordered = sorted(values)
        median, late = (ordered[int(part * (len(ordered) - 1))] for part in (0.5, 0.99))
        print(f"{kind:<22}{len(ordered):>8}{median:>8.2f}s{late:>8.2f}s{ordered[-1]:>8.2f}s")
    print("done: " + ", ".join(f"{n} {kind}" for kind, n in tally.done.most_common()))
    print(f"errors: {len(tally.errors)}")
    for line in tally.errors[:20]:
        print(f"  {line}")


def jobs(log: Path) -> None:
    """Print what the server says of its jobs and workers."""
    ended: dict[str, list[float]] = {}
    for line in log.read_text("utf-8", "replace").splitlines():
        if line.startswith('{"at"'):
            said = json.loads(line)
            names = (said["event"], *(str(said[n]) for n in ("kind", "how", "reason") if n in said))
            ended.setdefault(" ".join(names), []).append(said.get("seconds", 0.0))
    for name, seconds in sorted(ended.items()):
        print(f"{name}: {len(seconds)}, the longest {max(seconds):.1f} s")


def main() -> int:
    """Serve, let visitors come, and print what was found."""
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--visitors", type=int, default=10)
    ask.add_argument("--minutes", type=float, default=60.0)
    ask.add_argument("--pause", type=float, default=5.0, help="seconds between two actions, mean")
    ask.add_argument("--seed", type=int, default=0)
    ask.add_argument("--out", type=Path, default=Path("soak.svg"))
    ask.add_argument("--log", type=Path, help="where the server's log is to be kept")
    asked, samples = ask.parse_args(), list[Sample]()
    with tempfile.TemporaryDirectory(prefix="spillway-soak-") as folder:
        served = Served(Path(folder), {})
        try:
            tally = asyncio.run(soak(served, asked, samples))
        finally:
            left = served.end()
            if asked.log:
                asked.log.write_bytes(served.log_path.read_bytes())
        asked.out.with_suffix(".json").write_text(json.dumps([asdict(s) for s in samples]))
        told(tally)
        jobs(served.log_path)
        complaints = served.complaints()
    print(f"errors in the log: {len(complaints)}")
    for line in complaints[:20]:
        print(f"  {line:.300}")
    first, last = samples[0], samples[-1]
    print(f"at the start: {first}\nafter {QUIET_S:.0f} s without visitors: {last}")
    print(f"left behind: {', '.join(left) or 'nothing'}")
    return 1 if tally.errors or complaints or left or last.sessions else 0


if __name__ == "__main__":
    sys.exit(main())
