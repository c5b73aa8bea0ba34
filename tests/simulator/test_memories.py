"""Memories that make no sense, or hide bytes or traffic, are refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import planners as sp
from planners.core.plan import Plan
from planners.core.program import (
    Compute,
    Load,
    Memory,
    Operand,
    Program,
    Region,
    Release,
    Store,
    whole,
)
from planners.simulator.check import replay
from tests.random_graphs import random_graph
from tests.simulator.programs import HOST

CHIP = Memory("scratchpad", 100)


def planned() -> Plan:
    return sp.plan(random_graph(1, 9, largest=30), budget="MR")


@pytest.mark.parametrize(
    ("memories", "says"),
    [
        ((replace(CHIP, size_bytes=None), HOST), "has no size"),
        ((replace(CHIP, size_bytes=-1), HOST), "makes no sense"),
        ((replace(CHIP, size_bytes=10**30), HOST), "makes no sense"),
        ((replace(CHIP, size_bytes=0, circular=True), HOST), "ring of no bytes"),
        ((CHIP, CHIP, HOST), "share a name"),
        ((replace(CHIP, parent="scratchpad"), HOST), "no root"),
        ((replace(CHIP, parent="b"), Memory("b", 9, parent="scratchpad"), HOST), "no root"),
        ((replace(CHIP, parent="nowhere"), HOST), "no root"),
        ((CHIP, HOST, Memory("window", 60, parent="scratchpad", base=41)), "past the end"),
        ((CHIP, HOST, Memory("window", 9, parent="scratchpad", base=-1)), "makes no sense"),
        ((replace(CHIP, circular=True), HOST, Memory("w", 101, True, parent="scratchpad")), "past"),
        ((CHIP, HOST, Memory("window", 9, offchip=True, parent="scratchpad")), "kind of memory"),
        ((CHIP, HOST, Memory("attic", None, addressed=False)), "must be off chip"),
        ((CHIP, replace(HOST, offchip=False)), "must be off chip"),
        ((CHIP, replace(HOST, addressed=True)), "home of kind"),
    ],
)
def test_memories_that_make_no_sense(memories: tuple[Memory, ...], says: str) -> None:
    plan = planned()
    broken = replace(plan, program=replace(plan.program, memories=memories))
    with pytest.raises(sp.InvalidPlan, match=says) as error:
        sp.check(broken)
    assert error.value.kind == "memories"
    with pytest.raises(sp.InvalidPlan, match=says):
        sp.simulate(broken)


def test_nothing_off_chip_is_as_fast_as_what_is_on_chip() -> None:
    """It would hold bytes beside the budget."""
    plan = planned()
    attic = Memory("attic", None, offchip=True, level="scratchpad")
    memories = (*plan.program.memories, attic)
    with pytest.raises(sp.InvalidPlan, match="'attic' is off chip, but as fast"):
        sp.check(replace(plan, program=replace(plan.program, memories=memories)))


@pytest.mark.parametrize("homes", [{}, {"input": "host"}, {"output": "scratchpad"}])
def test_outputs_end_in_a_memory_without_addresses(homes: dict[str, str]) -> None:
    plan = planned()
    with pytest.raises(sp.InvalidPlan, match="home of kind"):
        sp.check(replace(plan, program=replace(plan.program, homes=homes)))


def doubled() -> sp.Graph:
    tensors = {"x": sp.Tensor("x", (10,), "input"), "y": sp.Tensor("y", (10,))}
    return sp.Graph("one", tensors, (sp.Operator("op", "any", ("x",), ("y",)),), ("x",), ("y",))


def beside_the_chip(frees: tuple[int, ...] = (), offset: int | None = None) -> Program:
    """A program that computes in memory with addresses that is not on the chip."""
    graph = doubled()
    home = Region("host", offset, 10)
    x, y = whole(graph.tensors["x"]), whole(graph.tensors["y"])
    at_x, at_y = Region("dram", 0, 10), Region("dram", 0 if frees else 10, 10)
    items: tuple[Any, ...] = (
        Load(0, x, home, at_x),
        Compute(0, "op", (Operand(x, at_x),), (Operand(y, at_y),), 0, frees),
        Store(0, y, at_y, home),
        Release(0, y, at_y),
    )
    memories = (Memory("dram", 100, offchip=True), HOST)
    return Program(memories, items, {"input": "host", "output": "host"}, ("op",))


def test_what_is_computed_off_chip_crosses_the_interface() -> None:
    report = replay(doubled(), beside_the_chip())
    assert (report.loaded_bytes, report.stored_bytes, report.peak_bytes) == (10, 10, 0)


@pytest.mark.parametrize(
    ("frees", "kind"), [((1,), "frees"), ((-1,), "frees"), ((0, 0), "not resident")]
)
def test_only_what_is_read_is_freed_and_only_once(frees: tuple[int, ...], kind: str) -> None:
    replay(doubled(), beside_the_chip((0,)))
    with pytest.raises(sp.InvalidPlan) as error:
        replay(doubled(), beside_the_chip(frees))
    assert error.value.kind == kind


def test_a_home_has_no_addresses() -> None:
    with pytest.raises(sp.InvalidPlan, match="has no addresses"):
        replay(doubled(), beside_the_chip(offset=0))


def test_an_objective_that_no_replay_finds_is_caught() -> None:
    plan = planned()
    wrong = replace(plan.claims, objective_bytes=0, bound_bytes=0)
    with pytest.raises(sp.InvalidPlan, match="objective_bytes"):
        sp.check(replace(plan, claims=wrong))
