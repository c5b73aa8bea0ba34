"""Try inputs by chance on all that reads a stranger's: `python -m tests.fuzz --inputs 10000`.

Ends with 1 where an input failed: it was neither read nor refused in one line, or took more memory
or time than it may. `--show LOADER-SEED-NUMBER` writes one input to standard output.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from time import monotonic

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # threads do not survive a fork
os.environ.setdefault("OMP_NUM_THREADS", "1")

from tests.fuzz.run import FAILED, REFUSED, RIGHT, Bounds, Tally, known, made, run, shares


def main() -> int:
    ask = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    ask.add_argument("--inputs", type=int, default=10_000)
    ask.add_argument("--seed", type=int, default=0)
    ask.add_argument("--only", help="a loader, or several with commas between")
    ask.add_argument("--failures", type=Path, help="a folder for inputs that fail, and why")
    ask.add_argument("--resume", type=Path, help="a file of what was tried, to go on from")
    ask.add_argument("--memory", type=int, default=1024, help="MiB that an input may take")
    ask.add_argument(
        "--seconds", type=float, default=10.0, help="of processor that an input may take"
    )
    ask.add_argument("--show", metavar="LOADER-SEED-NUMBER")
    asked = ask.parse_args()
    if asked.show:
        loader, seed, number = asked.show.split("-")
        sys.stdout.buffer.write(made(loader, int(seed), int(number)))
        return 0
    begun, bounds = monotonic(), Bounds(asked.memory * 2**20, asked.seconds)
    sums = dict.fromkeys((RIGHT, REFUSED, FAILED), 0)
    print(f"{'loader':<10}{RIGHT:>10}{REFUSED:>10}{FAILED:>10}{'s':>8}  slowest, largest answer")
    for loader, count in shares(known(asked.only), asked.inputs).items():
        since = monotonic()
        tally = run(loader, count, asked.seed, bounds, asked.failures, asked.resume)
        print(_row(loader, tally.counts, monotonic() - since) + _most(tally), flush=True)
        for number, reason in list(tally.failures.items())[:20]:
            print(f"  {loader}-{asked.seed}-{number}: {_last_line(reason)}", flush=True)
        sums = {name: sums[name] + tally.counts[name] for name in sums}
    print(_row("all", sums, monotonic() - begun))
    return 1 if sums[FAILED] else 0


def _row(name: str, counts: dict[str, int], took_s: float) -> str:
    return f"{name:<10}" + "".join(f"{count:>10,}" for count in counts.values()) + f"{took_s:>8.1f}"


def _most(tally: Tally) -> str:
    (time_s, slow), (size, large) = tally.slowest, tally.largest
    return f"  {time_s:.2f} s ({slow}), {size / 2**20:.0f} MiB ({large})"


def _last_line(reason: str) -> str:
    lines = [line.strip() for line in reason.strip().splitlines()]
    places = [line for line in lines if line.startswith("File")]
    return f"{lines[-1]:.150} ({places[-1]:.150})" if places else lines[-1]


if __name__ == "__main__":
    sys.exit(main())
