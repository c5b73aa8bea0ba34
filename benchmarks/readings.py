"""What columns save: `check` and `simulate` of long programs, against instruction by instruction.

    python benchmarks/readings.py [MODEL:PLANNER:KIB ...]

Both read the same program, held in memory, and must say the same to the last bit. Seconds are the
processor's, the least of three for columns and one for the readable replay and scoreboard; nothing
else should run. The last column is what `sp.plan`, `check` and the times take together.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from os import getloadavg
from time import process_time
from typing import TypeVar

import planners as sp
from planners.core.program import AddressSpace, Program
from planners.simulator.check import CheckReport, replay, report_of
from planners.simulator.residencies import Residencies
from planners.simulator.simulate import traced
from planners.simulator.symbolic import Replay

CASES = (
    "squeezenet1_0:fusion:256",
    "mobilenet_v2:fusion:256",
    "resnet50:fusion:256",
    "mcunet_vww1:overlap:64",
    "mobilenet_v2:overlap:512",
)
TIMES = 3
Answer = TypeVar("Answer")


def main(cases: list[str]) -> None:
    """One line a plan."""
    print(f"Load at the start: {getloadavg()[0]:.1f}\n")
    print("| plan | instructions | check | columns | a second | time | columns | a second | all |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    for case in cases:
        print(row(case), flush=True)


def anew(graph: sp.Graph, program: Program, report: CheckReport) -> CheckReport:
    """The same report with columns that were not timed yet."""
    found = report.residencies
    assert isinstance(found, Residencies)
    assert found.replayed is not None, "not in columns"
    return replace(report, residencies=Residencies(graph, program, replace(found.replayed)))


def row(case: str) -> str:
    """One plan's line of the table."""
    name, planner, size = case.split(":")
    graph = sp.load(name)
    plan_s, plan = least(lambda: sp.plan(graph, planner, f"{size}KiB", replay=False), 1)
    check_s, report = least(lambda: replay(graph, replace(plan.program), machine=plan.machine))
    time_s, trace = least(lambda: traced(plan, anew(graph, plan.program, report), plan.machine))
    count = report.instructions
    flat = replace(plan.program, instructions=tuple(plan.program.instructions))
    spaces = AddressSpace(flat.memories)
    one_s, same = least(lambda: Replay(graph, flat, spaces, None, plan.machine).run(), 1)
    slow = replace(report, residencies=Residencies(graph, flat))
    old_s, old = least(lambda: traced(plan, slow, plan.machine), 1)
    assert report == report_of(graph, flat, same), "columns report something else"
    assert trace == old, "columns time something else"
    return (
        f"| {case} | {count:,} | {one_s:.2f} | {check_s:.2f} | {count / check_s:,.0f} "
        f"| {old_s:.2f} | {time_s:.2f} | {count / time_s:,.0f} | {plan_s + check_s + time_s:.2f} |"
    )


def least(call: Callable[[], Answer], times: int = TIMES) -> tuple[float, Answer]:
    """The least of some runs' processor seconds, and the last one's answer."""
    seconds = []
    for _ in range(times):
        began = process_time()
        answer = call()
        seconds.append(process_time() - began)
    return min(seconds), answer


if __name__ == "__main__":
    main(sys.argv[1:] or list(CASES))
