"""`Loop` and `Scan` nodes whose rounds are known before they run: each round as nodes around it.

A round's nodes are followed by the node itself again, which then knows how many it has run: what
the next one needs, its condition above all, may be computed by the nodes before it.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableSet, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import numpy_helper

from planners.core.errors import BadInput
from planners.importers.onnx.branches import fresh_name, renamed
from planners.importers.onnx.file import in_order, label

MOST_ROUNDS = 512
DONE, KEPT = "spillway_rounds", "spillway_kept"
"""Attributes of a node that has run some rounds: how many, and what they gave to be stacked."""


class Round(NamedTuple):
    """The weights of a round by name, and its nodes, the node itself behind them."""

    constants: dict[str, Any]
    nodes: list[Any]


def rounds_done(node: Any) -> int:
    return next((int(a.i) for a in node.attribute if a.name == DONE), 0)


def kept_names(node: Any) -> list[str]:
    """What is stacked in the end, of all rounds so far one after the other."""
    return [s.decode() for a in node.attribute if a.name == KEPT for s in a.strings]


def begun(node: Any, carried: Sequence[str], path: Path) -> None:
    """Raise `BadInput` for a node that gives or takes another number of values than its body."""
    body = body_of(node, path)
    if len(node.output) != len(body.output) - (node.op_type == "Loop"):
        raise BadInput(f"{path}: {label(node)} does not fit its body: other values")
    if rounds_done(node) >= MOST_ROUNDS:
        raise BadInput(f"{path}: {label(node)} runs more than {MOST_ROUNDS} rounds")
    if len(carried) > len(node.output):
        raise BadInput(f"{path}: {label(node)} does not fit its body: it carries more")


def body_of(node: Any, path: Path) -> Any:
    graphs = [a.g for a in node.attribute if a.name == "body"]
    if len(graphs) != 1:
        raise BadInput(f"{path}: {label(node)} has no body")
    return graphs[0]


def one_round(
    node: Any, given: Sequence[str], around: Round, names: MutableSet[str], path: Path
) -> Round:
    """A round that reads `given` in the place of its body's inputs, behind nodes `around` it.

    Values of the body get names of their own, which `names` grow by. Raises `BadInput`.
    """
    body, done = body_of(node, path), rounds_done(node)
    if len(body.input) != len(given):
        raise BadInput(f"{path}: {label(node)} does not fit its body: other inputs")
    constants = {tensor.name: tensor for tensor in body.initializer}
    inside = in_order(body, constants, path, outer=names)
    new = {
        name: fresh_name(f"{name}.{done}", names)
        for name in (*constants, *(n for each in inside for n in each.output if n))
    }
    new |= {value.name: name for value, name in zip(body.input, given, strict=True)}
    body_nodes = [renamed(each, new) for each in inside]
    gives = [new.get(value.name, value.name) for value in body.output]
    loops = node.op_type == "Loop"
    carried = len(given) - 2 if loops else len(node.input) - _scanned(node)
    again = onnx.NodeProto()
    again.CopyFrom(node)
    if loops:
        again.input[:] = [node.input[0], *gives[: carried + 1]]
    else:
        again.input[:] = [*gives[:carried], *node.input[carried:]]
    kept = [*kept_names(node), *gives[carried + loops :]]
    for attribute in [a for a in again.attribute if a.name in (DONE, KEPT)]:
        again.attribute.remove(attribute)
    again.attribute.append(onnx.helper.make_attribute(DONE, done + 1))
    if kept:
        again.attribute.append(onnx.helper.make_attribute(KEPT, kept))
    weights = {new[name]: tensor for name, tensor in constants.items()}
    return Round({**around.constants, **weights}, [*around.nodes, *body_nodes, again])


def loop_round(node: Any, names: MutableSet[str], path: Path) -> Round:
    """The next round of a loop that runs on."""
    carried = list(node.input[2:])
    begun(node, carried, path)
    number = fresh_name(f"{node.output[0]}.round.{rounds_done(node)}", names)
    runs = fresh_name(f"{number}.runs", names)
    numbers = {
        number: numpy_helper.from_array(np.array(rounds_done(node), np.int64), number),
        runs: numpy_helper.from_array(np.array(True), runs),
    }
    return one_round(node, [number, runs, *carried], Round(numbers, []), names, path)


def scan_round(node: Any, names: MutableSet[str], path: Path) -> Round:
    """The next round of a scan, its rows picked out of what it goes through."""
    scanned = _scanned(node)
    carried, rows = node.input[: len(node.input) - scanned], node.input[len(node.input) - scanned :]
    begun(node, carried, path)
    number = fresh_name(f"{node.output[0]}.round.{rounds_done(node)}", names)
    index = numpy_helper.from_array(np.array(rounds_done(node), np.int64), number)
    picked = [fresh_name(f"{row}.{rounds_done(node)}", names) for row in rows]
    picks = [
        onnx.helper.make_node("Gather", [row, number], [name], axis=0)
        for row, name in zip(rows, picked, strict=True)
    ]
    return one_round(node, [*carried, *picked], Round({number: index}, picks), names, path)


def _scanned(node: Any) -> int:
    return next((int(a.i) for a in node.attribute if a.name == "num_scan_inputs"), 0)


def goes_along_the_first_axis(node: Any) -> bool:
    """Whether a scan goes forward along first axes, and stacks so."""
    plain = {"body", "num_scan_inputs", DONE, KEPT}
    return all(a.name in plain or not any(a.ints) for a in node.attribute)


def ended(node: Any, opset: int, names: MutableSet[str], path: Path) -> Round:
    """What it gives when its rounds are over. Raises `BadInput` where there was none to stack."""
    carried = node.input[2:] if node.op_type == "Loop" else node.input[: -_scanned(node) or None]
    nodes = [
        onnx.helper.make_node("Identity", [value], [name])
        for value, name in zip(carried, node.output, strict=False)
        if name
    ]
    stacked, kept = list(node.output[len(carried) :]), kept_names(node)
    if stacked and not kept:
        raise BadInput(f"{path}: {label(node)} runs no round, and stacks what they give")
    axes = fresh_name(f"{node.output[0]}.axes", names)
    constants = {axes: numpy_helper.from_array(np.zeros(1, np.int64), axes)} if stacked else {}
    for at, name in enumerate(stacked):
        nodes += _stacked(kept[at :: len(stacked)], name, axes if opset >= 13 else "", names)
    return Round(constants, nodes)


def _stacked(values: Sequence[str], name: str, axes: str, names: MutableSet[str]) -> Iterator[Any]:
    rows = [fresh_name(f"{name}.{at}", names) for at in range(len(values))]
    for value, row in zip(values, rows, strict=True):
        if axes:
            yield onnx.helper.make_node("Unsqueeze", [value, axes], [row])
        else:
            yield onnx.helper.make_node("Unsqueeze", [value], [row], axes=[0])
    if name:
        yield onnx.helper.make_node("Concat", rows, [name], axis=0)
