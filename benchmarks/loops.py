"""What loops save: `check` of a fused plan as it is written, and of all its rounds written out.

    python benchmarks/loops.py [MODEL:KIB ...]

Both replay the same program and must report the same to the byte. Seconds are the processor's,
each the least of three; nothing else should run.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from time import process_time

import planners as sp
from planners.core.loops import LoopedInstructions, items_of
from planners.core.program_json import program_to_json
from planners.simulator.check import CheckReport, replay

CASES = ("squeezenet1_0:256", "mobilenet_v2:256", "resnet50:256", "vit_b_16:512")
TIMES = 3


def main(cases: list[str]) -> None:
    print("| plan | instructions | items | written out, s | as loops, s | ratio | file, MB |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for case in cases:
        print(row(case), flush=True)


def row(case: str) -> str:
    """One plan's line of the table."""
    name, size = case.split(":")
    graph = sp.load(name)
    plan = sp.plan(graph, planner="fusion", budget=int(size) * 1024, replay=False)
    items = tuple(items_of(plan.program))
    looped = replace(plan.program, instructions=LoopedInstructions(items))
    flat = replace(plan.program, instructions=tuple(plan.program.instructions))
    loops_s, report = least(lambda: replay(graph, looped, machine=plan.machine))
    flat_s, same = least(lambda: replay(graph, flat, machine=plan.machine))
    assert report == same, "a loop says what its rounds do not"
    sizes = [len(json.dumps(program_to_json(p), separators=(",", ":"))) for p in (flat, looped)]
    written = " → ".join(f"{n / 1e6:.1f}" for n in sizes)
    count = f"{report.instructions:,} | {len(items):,}"
    return (
        f"| {case} | {count} | {flat_s:.2f} | {loops_s:.2f} | {flat_s / loops_s:.1f} | {written} |"
    )


def least(call: Callable[[], CheckReport]) -> tuple[float, CheckReport]:
    """The least of some runs' processor seconds, and the last one's answer."""
    seconds = []
    for _ in range(TIMES):
        began = process_time()
        report = call()
        seconds.append(process_time() - began)
    return min(seconds), report


if __name__ == "__main__":
    main(sys.argv[1:] or list(CASES))
