"""Plans of the arena, replayed byte by byte: what is read is what was written there, always."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from math import prod
from pathlib import Path

import pytest

from planners.audits.cure import tflm
from planners.audits.cure.arena import (
    Overlaps,
    apart,
    check,
    overlapping,
    overlaps,
    pairs_at_once,
)
from planners.audits.cure.kernels import KERNELS
from planners.audits.cure.tflm import ArenaPlan, plan_arena
from planners.audits.readers.tflm import ALIGNMENT, buffers, greedy, scratch_buffers
from planners.core.errors import BadInput, InvalidPlan
from planners.importers.tflite.file import TfliteFile, TfliteOperator, read_tflite
from tests.audits.cure.loops import loops
from tests.audits.cure.networks import NETWORKS, drawn
from tests.importers.tflite_models import TfliteWriter

WIDTHS = {"int8": 1, "int16": 2, "float32": 4}


class Replay:
    """An arena in which each byte knows which byte of which tensor it is."""

    def __init__(self, file: TfliteFile, offsets: Mapping[str, int]) -> None:
        self.file, self.graph, self.offsets = file, file.subgraphs[0], offsets
        self.bytes: dict[int, tuple[int, int]] = {}
        self.lost: list[str] = []

    def _span(self, tensor: int, element: int) -> range:
        width = WIDTHS[self.graph.tensors[tensor].dtype]
        return range(element * width, (element + 1) * width)

    def write(self, arena: dict[int, tuple[int, int]], tensor: int, element: int) -> None:
        for byte in self._span(tensor, element):
            arena[self.offsets[str(tensor)] + byte] = tensor, byte

    def read(self, arena: dict[int, tuple[int, int]], tensor: int, element: int) -> None:
        for byte in self._span(tensor, element):
            if arena.get(self.offsets[str(tensor)] + byte) != (tensor, byte):
                self.lost.append(f"byte {byte} of {self.graph.tensors[tensor].name}")

    def whole(self, act: str, arena: dict[int, tuple[int, int]], tensor: int) -> None:
        for element in range(self.graph.tensors[tensor].elements):
            getattr(self, act)(arena, tensor, element)

    def run(self, scratch_at: Mapping[int, list[range]]) -> list[str]:
        """What is lost in one inference."""
        for tensor in self.graph.inputs:
            self.whole("write", self.bytes, tensor)
        for operator in self.graph.operators:
            for span in scratch_at.get(operator.number, []):
                self.bytes |= dict.fromkeys(span, (-1, 0))
            self._operator(operator)
            for span in scratch_at.get(operator.number, []):
                self.bytes |= dict.fromkeys(span, (-1, 0))
        for tensor in self.graph.outputs:
            self.whole("read", self.bytes, tensor)
        return self.lost

    def _operator(self, operator: TfliteOperator) -> None:
        held = [n for n in dict.fromkeys(operator.inputs) if str(n) in self.offsets]
        (out,) = operator.outputs
        same = operator.kind == "RESHAPE" and self.offsets[str(held[0])] == self.offsets[str(out)]
        after = dict(self.bytes)
        self.whole("write", after, out)
        for tensor in held:
            arena = dict(self.bytes)
            if operator.kind in KERNELS:
                for act, element in loops(self.file, operator, tensor):
                    if act == "read":
                        self.read(arena, tensor, element)
                    else:
                        self.write(arena, out, element)
            else:  # It reads what it likes when it likes, or copies nothing.
                self.whole("read", self.bytes, tensor)
                if not same:
                    self.whole("read", after, tensor)
        self.bytes = after


def lost(file: TfliteFile, plan: ArenaPlan) -> list[str]:
    """What a plan loses in the runtime, which places scratch buffers itself."""
    given = {t.id: plan.offsets[t.id] for t in plan.tensors}
    placed = greedy((*plan.tensors, *plan.scratch), given)
    assert max(t.stop for t in placed) == plan.head_bytes
    assert all(plan.offsets[t.id] % ALIGNMENT == 0 for t in plan.tensors)
    spans: dict[int, list[range]] = {}
    for t in placed:
        if t.id.startswith("scratch"):
            spans.setdefault(t.lower - 1, []).append(range(t.offset or 0, t.stop))
    return Replay(file, given).run(spans)


def saved(writer: TfliteWriter, path: Path) -> TfliteFile:
    return read_tflite(writer.save(path / "net.tflite"))


@pytest.mark.parametrize("overlap", [False, True])
@pytest.mark.parametrize("name", NETWORKS)
def test_no_byte_is_lost(name: str, overlap: bool, tmp_path: Path) -> None:
    file = saved(NETWORKS[name](), tmp_path)
    plan = plan_arena(file, overlap=overlap)
    assert lost(file, plan) == []
    assert plan.bound_bytes <= plan.head_bytes <= plan.own_bytes
    assert plan.proven
    assert plan.unknown == ()
    assert bool(plan.overlapped) <= overlap
    if overlap:
        assert plan.head_bytes <= plan_arena(file).head_bytes


@pytest.mark.parametrize("seed", range(25))
def test_no_byte_of_a_drawn_network_is_lost(seed: int, tmp_path: Path) -> None:
    file = saved(drawn(seed), tmp_path)
    plain, plan = plan_arena(file), plan_arena(file, overlap=True)
    assert lost(file, plain) == lost(file, plan) == []
    assert plan.head_bytes <= plain.head_bytes <= plain.own_bytes


def test_shorter_distances_lose_bytes(tmp_path: Path) -> None:
    """The replay can fail, and the distances are needed."""
    failed = shortened = 0
    for seed in range(12):
        file = saved(drawn(seed), tmp_path)
        tensors = buffers(file, {})
        allowed = overlaps(file, tensors)
        for pair, d in allowed.distances.items():
            if d < ALIGNMENT:
                continue
            shorter = Overlaps({**allowed.distances, pair: d - ALIGNMENT}, allowed.same)
            placed = overlapping((*tensors, *scratch_buffers(file)[0]), shorter)
            plan = plan_arena(file, overlap=True)
            a, b = (placed.offsets[name] for name in pair)
            if b - a != d - ALIGNMENT:
                continue  # the packing does not make use of it
            shortened += 1
            head = max(
                t.stop
                for t in greedy(
                    (*plan.tensors, *plan.scratch), {t.id: placed.offsets[t.id] for t in tensors}
                )
            )
            failed += bool(lost(file, replace(plan, offsets=placed.offsets, head_bytes=head)))
    assert shortened > 5
    assert failed == shortened


def test_the_extent_is_the_least_of_all_addresses(tmp_path: Path) -> None:
    """Against all addresses of few tensors, with the same rules for each pair."""
    compared = 0
    for seed in range(60):
        file = saved(drawn(seed, operators=1), tmp_path)
        tensors = buffers(file, {})
        sizes = [t.size_bytes // ALIGNMENT for t in tensors]
        allowed = overlaps(file, tensors)
        found = overlapping(tensors, allowed)
        top = found.extent_bytes // ALIGNMENT - 1
        if found.extent_bytes != found.bound_bytes:
            continue
        spots = [range(max(0, top - size + 1)) for size in sizes]
        if prod(map(len, spots)) > 30_000:
            continue
        compared += 1
        for offsets in product(*spots):
            at = {t.id: k * ALIGNMENT for t, k in zip(tensors, offsets)}
            with pytest.raises(InvalidPlan):
                check(tensors, at, allowed)
    assert compared > 10


def test_apart_is_apart(tmp_path: Path) -> None:
    file = saved(NETWORKS["residual"](), tmp_path)
    tensors = buffers(file, {})
    placed = apart(tensors, 5.0)
    check(tensors, placed.offsets, Overlaps({}, {}))
    over = overlapping(tensors, overlaps(file, tensors))
    with pytest.raises(InvalidPlan, match="lies over"):
        check(tensors, over.offsets, Overlaps({}, {}))


def test_what_cannot_be_planned_is_said(tmp_path: Path) -> None:
    w = TfliteWriter()
    x = w.tensor((1, 4), "string")
    w.operator("RESHAPE", [x], [w.tensor((4,), "string")])
    w.inputs, w.outputs = [x], [1]
    with pytest.raises(BadInput, match="there is nothing to place"):
        plan_arena(saved(w, tmp_path))


def test_kernels_with_unknown_scratch_are_named(tmp_path: Path) -> None:
    w = TfliteWriter()
    x = w.tensor((1, 4), "int8")
    y = w.operator("MY_OWN", [x], [w.tensor((1, 4), "int8")])
    w.inputs, w.outputs = [x], [y]
    plan = plan_arena(saved(w, tmp_path), overlap=True)
    assert plan.unknown == ("MY_OWN",)
    assert plan.overlapped == ()
    assert plan.head_bytes == 2 * ALIGNMENT


def test_too_many_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = saved(NETWORKS["residual"](), tmp_path)
    tensors = buffers(file, {})
    pairs = [
        (a, b)
        for k, a in enumerate(tensors)
        for b in tensors[:k]
        if a.lower < b.upper and b.lower < a.upper
    ]
    assert pairs_at_once(tensors) == len(pairs) > 10
    monkeypatch.setattr(tflm, "MOST_PAIRS", len(pairs) - 1)
    plan_arena(file)
    with pytest.raises(BadInput, match=f"{len(pairs)} pairs .*: plan it without overlap"):
        plan_arena(file, overlap=True)
    monkeypatch.setattr(tflm, "MOST_TENSORS", len(tensors) - 1)
    with pytest.raises(BadInput, match=f"has {len(tensors)} tensors to place"):
        plan_arena(file)
