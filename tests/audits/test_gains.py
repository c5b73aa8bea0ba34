"""What each change would buy: against lifetimes by hand, and never more than the least."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

import planners as sp
from planners.allocation.min_capacity import pack_tightest
from planners.audits.foreign import ForeignPlan
from planners.audits.readers.tflm import read_tflm
from planners.audits.verdict.audit import audit_plan
from planners.audits.verdict.gains import in_order, in_place, reordered, unaligned
from planners.core.progress import Clock
from tests.importers.tflite_models import TfliteWriter


def branches(tmp_path: Path) -> Path:
    """Two branches from one input: the wide one first, kept while the narrow one is wide inside."""
    w = TfliteWriter()
    x = w.tensor((1, 64), "int8", name="x", scale=0.5)
    w.inputs = [x]
    ends = []
    for size in (33, 256):
        wide = w.tensor((1, size), "int8", name=f"wide{size}", scale=0.5)
        pads = w.tensor((2, 2), "int32", np.zeros((2, 2), np.int32))
        w.operator("PAD", [x, pads], [wide], "PadOptions")
        ends.append(w.operator("RELU", [wide], [w.tensor((1, size), "int8", scale=0.5)]))
    w.outputs = [
        w.operator(
            "CONCATENATION",
            ends,
            [w.tensor((1, 289), "int8", scale=0.5)],
            "ConcatenationOptions",
            Axis=1,
        )
    ]
    return w.save(tmp_path / "branches.tflite")


def least(plan: ForeignPlan) -> int:
    return pack_tightest([t.lifetime for t in plan.inside("arena")]).extent_bytes


def test_the_graph_is_the_files_operators(tmp_path: Path) -> None:
    plan = read_tflm(branches(tmp_path))
    graph = plan.graph
    assert graph is not None
    assert [op.kind for op in graph.operators] == ["PAD", "RELU", "PAD", "RELU", "CONCATENATION"]
    assert {name: graph.size_bytes(name) for name in graph.outputs} == {plan.tensors[-1].id: 289}
    same = in_order(plan, graph, range(5))
    assert [(t.lower, t.upper) for t in same.tensors] == [(t.lower, t.upper) for t in plan.tensors]


def test_without_alignment_sizes_are_the_files_own(tmp_path: Path) -> None:
    plan = read_tflm(branches(tmp_path))
    assert plan.graph is not None
    loose = unaligned(plan, plan.graph, Clock(1))
    assert [t.size_bytes for t in loose.tensors] == [64, 33, 33, 256, 256, 289]
    assert {t.alignment for t in loose.tensors} == {1}


def test_in_place_only_over_what_dies(tmp_path: Path) -> None:
    plan = read_tflm(branches(tmp_path))
    assert plan.graph is not None
    shared = in_place(plan, plan.graph, Clock(1))
    groups = [t.alias for t in shared.tensors]
    assert groups[1] == groups[2] != ""
    assert groups[3] == groups[4] != ""
    assert groups[0] == groups[5] == ""
    assert least(shared) <= least(plan)


@pytest.mark.parametrize("seed", range(8))
def test_another_order_keeps_the_rules(seed: int, tmp_path: Path) -> None:
    plan = read_tflm(branches(tmp_path))
    graph = plan.graph
    assert graph is not None
    rng, order, ready = random.Random(seed), list[int](), set(graph.inputs)
    while len(order) < 5:
        free = [
            i for i in range(5) if i not in order and ready.issuperset(graph.operators[i].inputs)
        ]
        order.append(rng.choice(free))
        ready.update(graph.operators[order[-1]].outputs)
    moved = {t.id: t for t in in_order(plan, graph, order).tensors}
    for step, position in enumerate(order, plan.first_step):
        op = graph.operators[position]
        assert all(moved[name].lower == step for name in op.outputs)
        assert all(moved[name].lower <= step < moved[name].upper for name in op.inputs)
    assert moved[graph.outputs[0]].upper == 6
    assert {t.size_bytes for t in moved.values()} == {t.size_bytes for t in plan.tensors}
    assert least(reordered(plan, graph, Clock(5))) <= least(plan)


def test_the_audit_has_them(tmp_path: Path) -> None:
    found = sp.audit(branches(tmp_path))
    by_change = {gain.change: gain for gain in found.gains}
    assert list(by_change) == [
        "addresses",
        "no alignment",
        "in place",
        "another order",
        "overlap",
        "operators together",
    ]
    assert by_change["addresses"].extent_bytes == found.least_bytes
    peak = found.peak_bytes
    assert peak is not None
    assert all(gain.extent_bytes + gain.saved_bytes == peak for gain in found.gains)
    for change in ("no alignment", "in place", "another order"):
        assert by_change[change].extent_bytes <= found.least_bytes
    assert json.loads(json.dumps(found.facts()))["gains"][0]["change"] == "addresses"
    assert sp.audit(branches(tmp_path), changes=False).gains == ()


def test_without_a_network_there_are_none(tmp_path: Path) -> None:
    path = tmp_path / "plan.csv"
    path.write_text("id,lower,upper,size,offset\na,0,2,8,0\n")
    assert sp.audit(path).gains == ()


def test_no_time_ends_it(tmp_path: Path) -> None:
    found = audit_plan(read_tflm(branches(tmp_path)), time_limit=0.001)
    assert len(found.gains) < 6
