"""Do `check` and the naive replay say the same of a plan's file: valid or not, and every total?"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import planners as sp
from planners.core.program import Program
from planners.simulator.check import replay
from planners.simulator.records import replayed
from planners.simulator.traffic import moved_bytes
from tests.replay import naive
from tests.replay.needs import Refused

TOTALS = (
    *("loaded_bytes", "stored_bytes", "compulsory_bytes", "noncompulsory_bytes", "traffic_bytes"),
    *("peak_bytes", "peak_step", "extent_bytes", "macs", "instructions", "occupancy"),
)
READINGS = {"in columns": 0, "by instructions": 1 << 62}
"""From how many instructions on programs are read in columns."""


def naively(data: Any, whole: bool) -> naive.Totals | str:
    """What the naive replay says of a file, or of its program alone: totals, or why not."""
    try:
        return naive.check(data) if whole else naive.run(data)
    except Refused as error:
        return str(error)


def checked(plan: sp.Plan) -> sp.CheckReport | str:
    """What `check` says: its report, or why not."""
    try:
        return sp.check(plan)
    except sp.InvalidPlan as error:
        return str(error)


def readings(plan: sp.Plan) -> Iterator[tuple[str, sp.CheckReport | str]]:
    """The program alone: as it is read, in columns, and one instruction after the other."""
    flat = replace(plan.program, instructions=tuple(plan.program.instructions))
    programs: dict[str, Program] = {"as it is": plan.program}
    programs |= {"in columns": replace(plan.program), "by instructions": flat}
    for how, program in programs.items():
        least = READINGS.get(how, replayed.MANY_INSTRUCTIONS)
        with patch.object(replayed, "MANY_INSTRUCTIONS", least):
            try:
                yield how, replay(plan.graph, program, machine=plan.machine)
            except sp.InvalidPlan as error:
                yield how, str(error)


def differences(
    mine: naive.Totals | str, theirs: sp.CheckReport | str, plan: sp.Plan
) -> Iterator[str]:
    """In what two verdicts differ."""
    if isinstance(mine, str) or isinstance(theirs, str):
        if not (isinstance(mine, str) and isinstance(theirs, str)):
            said = mine if isinstance(mine, str) else theirs
            who = "naive" if isinstance(mine, str) else "check"
            yield f"only {who} refuses: {said}"
        return
    for name in TOTALS:
        if getattr(mine, name) != getattr(theirs, name):
            yield f"{name}: naive {getattr(mine, name)}, check {getattr(theirs, name)}"
    try:
        moved = moved_bytes(plan.program, plan.machine)
    except sp.BadInput:  # A memory that the machine has not: nothing was moved there.
        return
    for name, ours, other in (
        ("read", mine.read, moved.read),
        ("written", mine.written, moved.written),
    ):
        if dict(ours) != dict(other):
            yield f"{name}: naive {dict(ours)}, check {dict(other)}"


def disagreements(data: Any) -> tuple[bool, list[str]]:
    """Whether the file is a valid plan, and all in which the two disagree on it.

    Asked are the file without its details, its program alone in each of the ways in which programs
    are read and, where that is valid, the file with claims and a budget that suit it.
    """
    data = without_details(data)
    mine, alone = naively(data, True), naively(data, False)
    try:
        plan = sp.Plan.from_json(deepcopy(data))
    except sp.BadInput as error:
        refused = isinstance(mine, str)
        return False, [] if refused else [f"only check refuses: unreadable: {error}"]
    found = list(differences(mine, checked(plan), plan))
    for how, said in readings(plan):
        found += [f"{how}, {one}" for one in differences(alone, said, plan)]
    if isinstance(alone, naive.Totals) and isinstance(mine, str):
        honest = honestly_claimed(data, alone)
        plan = sp.Plan.from_json(deepcopy(honest))
        both = differences(naively(honest, True), checked(plan), plan)
        found += [f"with honest claims, {one}" for one in both]
    return not isinstance(mine, str), found


def without_details(data: Any) -> Any:
    """The file without seconds and layouts that it says beside its bytes, and their proof."""
    made = deepcopy(data)
    if "latency" in made.pop("details", {}) and made["claims"]["status"] == "optimal":
        made["claims"]["status"] = "feasible"
    return made


def honestly_claimed(data: Any, totals: naive.Totals) -> Any:
    """The file with claims that are what its program does, and a budget that its memories fit."""
    made = without_details(data)
    names = ("peak_bytes", "extent_bytes", "compulsory_bytes", "noncompulsory_bytes")
    claims = {name: getattr(totals, name) for name in names}
    proof = {"status": "feasible", "bound_bytes": 0, "objective_bytes": totals.traffic_bytes}
    made["claims"] |= claims | proof
    roots = [m for m in made["program"]["memories"] if m["parent"] is None and not m["offchip"]]
    made["budget_bytes"] = sum(m["size_bytes"] for m in roots)
    return made
