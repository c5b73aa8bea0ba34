"""Audits of tables with very many rows: seconds, memory, and the limit.

    python benchmarks/audit_rows.py [--before ROOT] [--limit S] [--most N]

Rows live all at once, or as in a long network; each audit is a process of its own. With `--before`,
another checkout takes turns, of as many rows as take it less than `PATIENCE_S`.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

COUNTS = (1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 100_000)
PATIENCE_S = 30.0


def at_once(count: int) -> str:
    """All live in one step, one above the other."""
    dice, rows, top = random.Random(1), [], 0
    for k in range(count):
        size = 16 * dice.randint(1, 100)
        rows.append(f"t{k},0,{dice.randint(1, 50)},{size},{top}")
        top += size
    return "\n".join(["id,lower,upper,size,offset", *rows])


def one_after_another(count: int) -> str:
    """A new one in each step, live for up to sixty, each where the first gap is."""
    dice, rows, live = random.Random(1), [], list[tuple[int, int, int]]()
    for k in range(count):
        size, upper, at = 16 * dice.randint(1, 100), k + dice.randint(1, 60), 0
        live = sorted(part for part in live if part[2] > k)
        for start, stop, _ in live:
            if at + size <= start:
                break
            at = max(at, stop)
        live.append((at, at + size, upper))
        rows.append(f"t{k},{k},{upper},{size},{at}")
    return "\n".join(["id,lower,upper,size,offset", *rows])


KINDS: dict[str, Callable[[int], str]] = {
    "at once": at_once,
    "one after another": one_after_another,
}


def audited(python: Path, table: Path, limit_s: float) -> tuple[float, float, str]:
    """Seconds, mebibytes and the first line of an audit by a checkout's interpreter."""
    began = time.perf_counter()
    asked = [str(python), "-m", "planners.cli", "audit", str(table), "--time-limit", str(limit_s)]
    process = subprocess.Popen(asked, cwd=table.parent, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said = process.stdout.read()
    _, _, used = os.wait4(process.pid, 0)
    return time.perf_counter() - began, used.ru_maxrss / 1024, said.partition("\n")[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", type=Path, help="a checkout to hold this one against")
    parser.add_argument("--limit", type=float, default=2.0, help="seconds that an audit may take")
    parser.add_argument("--most", type=int, default=COUNTS[-1], help="rows")
    given = parser.parse_args()
    pythons = {"now": Path(sys.executable)}
    if given.before:
        pythons["before"] = (given.before / ".venv/bin/python").absolute()
    print(f"limit {given.limit:g} s\n\n| rows | live | of | s | MiB | what it says |")
    print("|--:|---|---|--:|--:|---|")
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "rows.csv")
        for kind, made in KINDS.items():
            waited = set[str]()
            for count in (count for count in COUNTS if count <= given.most):
                table.write_text(made(count), encoding="utf-8")
                for name in sorted(pythons.keys() - waited):
                    took_s, mib, said = audited(pythons[name], table, given.limit)
                    row = f"| {count:,} | {kind} | {name} | {took_s:.2f} | {mib:.0f} | {said} |"
                    print(row, flush=True)
                    if took_s > PATIENCE_S:
                        waited.add(name)


if __name__ == "__main__":
    main()
