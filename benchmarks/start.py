"""What a command takes until it has answered, beside another checkout.

    python benchmarks/start.py [PYTHON ...] [--repeats 7] [--only TEXT]

Processor seconds (user and system) of the whole process, of this interpreter's checkout and of each
checkout whose interpreter (`.venv/bin/python`) is given, one after the other in turns: the median,
and the ratio of both. Sources are compiled before, into a folder of the benchmark's
own, as they are for who runs a command twice. `interpreter` is what none can go below.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median

PLAN = "import planners as sp; sp.plan(sp.load('resnet50'), budget='MR')"
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "interpreter": ("-c", "pass"),
    "import planners": ("-c", "import planners"),
    "spillway --version": ("-m", "planners.cli", "--version"),
    "spillway --help": ("-m", "planners.cli", "--help"),
    "spillway models": ("-m", "planners.cli", "models"),
    "sp.plan of resnet50": ("-c", PLAN),
    "spillway plan resnet50": ("-m", "planners.cli", "plan", "resnet50", "--budget", "MR"),
    "spillway budgets resnet50": ("-m", "planners.cli", "budgets", "resnet50"),
    "planning process": ("-c", "import app.jobs.worker, app.jobs.handlers.planning"),
}


def seconds(python: str, arguments: Iterable[str], compiled: str) -> float:
    """Processor seconds of one run, which must succeed."""
    before = getrusage(RUSAGE_CHILDREN)
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": compiled}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    subprocess.run(
        [python, *arguments],
        env=environment,
        cwd=compiled,
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=300,
    )
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("others", nargs="*", help="interpreters of other checkouts")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--only", default="", help="commands with this text")
    given = parser.parse_args()
    pythons = [sys.executable, *(str(Path(other).absolute()) for other in given.others)]
    print("| command | here s |" + "".join(f" {other} s | ratio |" for other in given.others))
    print("|---|---|" + "---|---|" * len(given.others))
    with tempfile.TemporaryDirectory() as compiled:
        for name, arguments in COMMANDS.items():
            if given.only not in name:
                continue
            rounds = [
                [seconds(python, arguments, compiled) for python in pythons]
                for _ in range(1 + given.repeats)
            ]
            here, *others = map(median, zip(*rounds[1:], strict=True))
            beside = "".join(f" {other:.3f} | {here / other:.2f} |" for other in others)
            print(f"| `{name}` | {here:.3f} |{beside}", flush=True)


if __name__ == "__main__":
    main()
