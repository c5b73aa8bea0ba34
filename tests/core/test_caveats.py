"""What is not known of a network is said."""

from __future__ import annotations

from dataclasses import replace

import pytest

import planners as sp
from planners.catalogue.names import CATALOGUE, DETECTORS
from planners.core.caveats import caveats
from tests.cell import cell


def test_a_network_that_is_known_has_nothing_to_say() -> None:
    found = caveats(sp.load("resnet18"))
    assert (found.lines(), found.facts()["opaque_operators"]) == ([], [])


@pytest.mark.parametrize("name", [n for n in CATALOGUE if n.startswith("quantized_")])
def test_quantised_models_say_that_they_are_float(name: str) -> None:
    (note,) = caveats(sp.load(name)).lines()
    assert note.startswith("the float model that is quantised")
    assert "element types" in note


def test_there_are_twelve_of_them() -> None:
    assert sum(name.startswith("quantized_") for name in CATALOGUE) == 12


def test_what_detectors_leave_out() -> None:
    for name in sorted(DETECTORS):
        assert "depend on the data and are left out" in caveats(sp.load(name)).notes[0]


def test_operators_that_compute_and_count_nothing() -> None:
    deep = caveats(sp.load("raft_small"))
    assert deep.uncounted
    assert f"{len(deep.uncounted)} operators are counted with 0 MACs: " in deep.lines()[-1]
    assert deep.lines()[-1].endswith(" more")
    assert deep.facts()["uncounted_operators"] == list(deep.uncounted)


def test_opaque_operators_are_those_of_the_source() -> None:
    graph = sp.load("resnet18")
    name = graph.operators[0].name
    marked = replace(graph, source={"opaque": [name, "gone"], "note": "cut"})
    found = caveats(marked)
    assert found.opaque == (name,)
    assert found.lines()[0] == "cut"
    assert found.lines()[1].startswith("1 operator is opaque, read all")
    assert name not in found.uncounted


def test_what_a_network_keeps_is_said() -> None:
    (note,) = caveats(cell()).lines()
    assert note.startswith(
        "keeps state from run to run: hidden (4 B); it is loaded where it is read"
    )
