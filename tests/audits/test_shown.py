"""Other tools' plans as plans of ours: each tensor where and when the tool has it."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

import planners as sp
from planners.allocation.min_capacity import pack_tightest
from planners.audits.foreign import ForeignPlan, ForeignTensor
from planners.audits.shown import as_plan

NPU = sp.load_machine("npu_small")
DATA = Path(__file__).parent / "data"


def random_plan(seed: int) -> ForeignPlan:
    """Tensors with lifetimes by lot, packed; some steps in which nothing begins."""
    lot = random.Random(seed)
    steps = lot.randint(1, 12)
    tensors = []
    for number in range(lot.randint(1, 14)):
        lower = lot.randrange(steps)
        upper = lot.randint(lower + 1, steps)
        tensors.append(ForeignTensor(str(number), lower, upper, lot.randint(1, 40)))
    offsets = pack_tightest([t.lifetime for t in tensors]).offsets
    placed = tuple(
        ForeignTensor(t.id, t.lower, t.upper, t.size_bytes, offsets[t.id]) for t in tensors
    )
    return ForeignPlan("a tool", "file", placed)


@pytest.mark.parametrize("seed", range(40))
def test_each_tensor_lies_where_and_when_the_tool_has_it(seed: int) -> None:
    foreign = random_plan(seed)
    plan = as_plan(foreign, "", NPU, "a tool")
    report = sp.check(plan)
    starts = sorted({t.lower for t in foreign.tensors})
    live = [sum(t.size_bytes for t in foreign.tensors if t.lower <= s < t.upper) for s in starts]
    assert list(report.occupancy) == live
    assert report.extent_bytes == max(t.stop for t in foreign.tensors)
    at = {stay.tensor: stay.spans[0].start for stay in report.residencies}
    assert at == {t.id: t.offset for t in foreign.tensors}
    again = sp.Plan.from_json(json.loads(json.dumps(plan.to_json())))
    assert sp.check(again).extent_bytes == report.extent_bytes


def test_tensors_that_are_called_alike_stay_apart() -> None:
    called = ["x", "x", "x #2", "x"]
    tensors = tuple(
        ForeignTensor(str(k), k, k + 2, 8, 8 * k, name=name) for k, name in enumerate(called)
    )
    plan = as_plan(ForeignPlan("t", "f", tensors, ("a", "a", "a #2", "a")), "", NPU, "t")
    assert len(plan.graph.tensors) == len({op.name for op in plan.graph.operators}) == 4
    assert sp.check(plan).extent_bytes == 32


def test_what_cannot_be_shown_is_said() -> None:
    one, other = ForeignTensor("a", 0, 2, 8, 0), ForeignTensor("b", 1, 3, 8, 4)
    with pytest.raises(sp.BadInput, match="'a' and 'b' share bytes"):
        as_plan(ForeignPlan("t", "f", (one, other)), "", NPU, "t")
    with pytest.raises(sp.BadInput, match="not all tensors have a place"):
        as_plan(ForeignPlan("t", "f", (one, ForeignTensor("b", 1, 3, 8))), "", NPU, "t")


@pytest.mark.parametrize(
    "file", ["vela_micro_speech.txt", "vela_micro_speech_legacy.txt", "xla_block-live-range.txt"]
)
def test_plans_of_tools_and_better_ones(file: str) -> None:
    found = sp.audit(DATA / file, changes=False)
    theirs, ours = found.as_plan(), found.as_plan(better=True)
    assert sp.check(theirs).extent_bytes == found.memories[0].peak_bytes
    assert sp.check(ours).extent_bytes == found.memories[0].least_bytes
    assert (theirs.planner, ours.planner) == (found.plan.tool, "spillway audit")
