"""How long packing takes, by instance size, and our search against CP-SAT in the same run.

Every instance is feasible by construction with no byte to spare (`cut`: a rectangle of time ×
memory cut in two again and again; `few`: the same with few sizes, the hardest; `net`: tensors of
few sizes in execution order), so an answer other than `packed` means that time ended.

    python benchmarks/packing.py                      # about a quarter of an hour
    python benchmarks/packing.py --boxes 100 --seeds 2 --limit 5
    python benchmarks/packing.py --file resnet50.csv tiny_bert.csv --ends exclusive --limit 60
    python benchmarks/packing.py --file iree_mobilebert.csv --ends inclusive

Files are CSVs with the columns id,lower,upper,size, as MiniMalloc (half-open lifetimes), IREE
(inclusive at both ends) and MindSpore's SOMAS (exclusive at both ends) have them in idealloc's
repository: the least extent found within the limit, its bound, and whether all fits in the bound.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import geometric_mean, median
from time import process_time

from planners.allocation import Lifetime, check_packing, cp_sat, pack
from planners.allocation.csv_io import read_rows
from planners.allocation.generate import cut_rectangle, network_like
from planners.allocation.min_capacity import pack_tightest
from planners.allocation.problem.instance import reduce
from planners.allocation.skyline import search as skyline
from planners.core.progress import Clock

FEW_BYTES = 1 << 8  # of capacity, so that few sizes differ

Generator = Callable[..., list[Lifetime]]
KINDS: dict[str, tuple[Generator, int]] = {
    "cut": (cut_rectangle, 1 << 12),
    "few": (partial(cut_rectangle, capacity_bytes=FEW_BYTES, times=400), FEW_BYTES),
    "net": (network_like, 1 << 10),
}
ENDS = {"half-open": (0, 0), "inclusive": (0, 1), "exclusive": (1, 0)}
"""What makes lifetimes of each kind half-open: added to their first and to their last time."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--boxes", type=int, nargs="+", default=[50, 100, 150, 200, 300, 450])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--limit", type=float, default=10.0, help="seconds for each answer")
    parser.add_argument("--no-cp-sat", action="store_true", help="our own times only")
    parser.add_argument("--file", type=Path, nargs="+", default=[], help="these, not made ones")
    parser.add_argument("--ends", choices=ENDS, default="half-open", help="of the files' lifetimes")
    options = parser.parse_args()
    if options.file:
        print(
            "file                 lifetimes         bound        extent      gap  seconds  in bound"
        )
        for path in options.file:
            print(file_row(path, *ENDS[options.ends], options.limit), flush=True)
        return
    print("kind boxes  packed  median_s   max_s  answered by", end="")
    print(
        "" if options.no_cp_sat else "                CP-SAT packed  CP-SAT/search (geometric mean)"
    )
    for kind in KINDS:
        for boxes in options.boxes:
            print(row(kind, boxes, options.seeds, options.limit, not options.no_cp_sat), flush=True)


def row(kind: str, boxes: int, seeds: int, limit_s: float, against: bool) -> str:
    """One line of the table: `seeds` instances of a kind and size."""
    generate, capacity = KINDS[kind]
    times, solvers, packed, rival_packed, ratios = [], Counter[str](), 0, 0, []
    for seed in range(seeds):
        lifetimes = generate(boxes, seed=seed)
        packing = pack(lifetimes, capacity, time_limit_s=limit_s)
        times.append(packing.seconds)
        solvers[packing.solver] += 1
        if packing.status == "packed":
            packed += 1
            check_packing(lifetimes, packing.offsets, capacity)
        if against:
            ours, theirs, theirs_packed = duel(lifetimes, capacity, limit_s)
            ratios.append(theirs / ours)
            rival_packed += theirs_packed
    line = f"{kind:4} {boxes:5}  {packed:3}/{seeds:<3} {median(times):8.3f} {max(times):7.3f}  "
    line += f"{', '.join(f'{name} {count}' for name, count in solvers.most_common()):26}"
    return line + (
        f" {rival_packed:6}/{seeds:<3} {geometric_mean(ratios):14.1f}" if against else ""
    )


def file_row(path: Path, first: int, last: int, limit_s: float) -> str:
    """One line about a file: the least extent, processor seconds, and whether the bound is one."""
    lifetimes = [
        replace(row.lifetime, lower=row.lifetime.lower + first, upper=row.lifetime.upper + last)
        for row in read_rows(path, ("offset",))
    ]
    began = process_time()
    found = pack_tightest(lifetimes, time_limit_s=limit_s)
    seconds = process_time() - began
    check_packing(lifetimes, found.offsets, found.extent_bytes)
    packing = pack(lifetimes, found.bound_bytes, time_limit_s=limit_s, explain=False)
    gap = found.extent_bytes / found.bound_bytes - 1
    line = f"{path.name:20} {len(lifetimes):9,} {found.bound_bytes:13,} {found.extent_bytes:13,}"
    return f"{line} {gap:8.3%} {seconds:8.1f}  {packing.status} ({packing.solver})"


def duel(lifetimes: list[Lifetime], capacity: int, limit_s: float) -> tuple[float, float, bool]:
    """Seconds of the search and of CP-SAT (2 workers), and whether CP-SAT packed it all.

    Who runs out of time is counted with the limit.
    """
    seconds = []
    for solve in (skyline.solve, cp_sat.solve):
        clock = Clock(limit_s)
        all_packed = all(solve(instance, clock)[0] for instance in reduce(lifetimes, capacity))
        seconds.append(clock.elapsed_s)
    return seconds[0], seconds[1], all_packed


if __name__ == "__main__":
    main()
