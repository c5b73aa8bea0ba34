"""Blocks that are the same under other names, and those that only look so."""

from __future__ import annotations

from dataclasses import replace

import planners as sp
from app.display.blocks import BlockNode
from app.display.displayed_plan import DisplayedPlan
from app.views.dag.scene import scene
from app.views.dag.twins import _letter, signature, twin_letters, twin_words


def test_the_layers_of_a_transformer_are_the_same(shown: DisplayedPlan) -> None:
    nodes = shown.tree.nodes(shown.tree.comfortable())
    letters = twin_letters(shown.graph, nodes)
    assert [bool(letter) for letter in letters] == [node.is_block for node in nodes]
    assert twin_words(letters) == ["≡A: 12 identical"]
    drawn = scene(shown, shown.tree.comfortable(), "kind")
    assert sum(text.startswith("≡A 9 ops") for text in drawn.nodes["second"]) == 12
    assert any("identical to the 11 others" in text for text in drawn.nodes["what"])


def test_one_other_shape_is_another_block() -> None:
    graph = sp.load("resnet50")
    blocks: dict[str, list[int]] = {}
    for i, op in enumerate(graph.operators):
        blocks.setdefault(".".join(op.block.split(".")[:2]), []).append(i)
    same = signature(graph, blocks["layer1.1"])
    assert signature(graph, blocks["layer1.2"]) == same
    assert signature(graph, blocks["layer2.1"]) != same
    tensors = dict(graph.tensors)
    name = graph.operators[blocks["layer1.2"][0]].parameters[0]
    tensors[name] = replace(tensors[name], shape=(*tensors[name].shape, 1))
    other = replace(graph, tensors=tensors)
    assert signature(other, blocks["layer1.2"]) != same


def test_a_block_without_a_twin_has_no_letter(shown: DisplayedPlan) -> None:
    assert twin_letters(shown.graph, [BlockNode("alone", (0, 1), True)]) == [""]
    assert [_letter(i) for i in (0, 25, 26, 27)] == ["A", "Z", "AA", "AB"]
