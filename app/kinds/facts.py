"""What a tap tells of an operator and of a tensor: the source's facts, and those of the plan."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import planners as sp
from app.display.displayed_plan import DisplayedPlan
from app.display.names import path_of, shape_text, shortened, tensor_path
from app.kinds.kind import Row, fact
from app.model.units import seconds_text
from planners.core.tables.build import table_of
from planners.core.tables.table import LOAD, STORE
from planners.core.units import format_bytes
from planners.simulator.records.interval_columns import columns_of_intervals

ROOM = 38
"""Letters in a row of the panel, roughly."""
FEW = 6


def operator_facts(shown: DisplayedPlan, name: str) -> list[Row]:
    """An operator's module, shapes, window and intensity, and when it runs and for how long."""
    graph = shown.graph
    operator = graph.operators[graph.index[name]]
    rows = [module(path_of(graph, name))] if operator.block else []
    rows.append(fact(f"{shapes(graph, operator.inputs)} → {shapes(graph, operator.outputs)}"))
    if words := window(operator):
        rows.append(fact(words))
    touched = (*operator.inputs, *operator.parameters, *operator.outputs)
    size = sum(graph.size_bytes(tensor) for tensor in touched)
    if operator.macs and size:
        about = "multiply-accumulates for each byte that it reads and writes, each tensor once"
        intensity = fact("intensity", f"{operator.macs / size:.3g} MAC/B")
        rows.append({**intensity, "about": about})
    steps = [step for step, ran in enumerate(shown.ran) if name in ran]
    taken = seconds_text(shown.operator_seconds.get(name, 0.0))
    rows.append(fact(f"runs in {steps_text(steps)}", taken))
    if (binding := shown.bindings.get(name)) is not None:
        used = binding.utilisation(shown.plan.machine)
        rate = f"{used:.1%} used" if operator.macs else ""
        about = "MACs over those that the array would do at its full rate while this computes"
        rows.append({**fact(f"bound by {binding.sentence}", rate), "about": about})
    return rows


def tensor_facts(shown: DisplayedPlan, name: str) -> list[Row]:
    """What makes a tensor, when it is written and read, how often it moves and at which cost."""
    graph, rows = shown.graph, list[Row]()
    if (path := tensor_path(graph, name)) != name:
        rows.append(module(path))
    written = sorted({step for step, _ in shown.writes.get(name, ())})
    read = sorted(set(shown.reads.get(name, ())))
    when = [
        f"{word} in {steps_text(at)}" for word, at in (("written", written), ("read", read)) if at
    ]
    if when:
        rows.append(fact(", ".join(when)))
    return [*rows, moving(shown, name)]


def moving(shown: DisplayedPlan, name: str) -> Row:
    """How often a tensor crosses the chip's edge, with how many bytes, and for how long."""
    loads, stores, seconds = transfers(shown, name)
    if not loads and not stores:
        return fact("never moves")
    times = [f"{count}× {word}" for count, word in ((loads, "in"), (stores, "out")) if count]
    crossed, more = shown.facts.crossed.get(name, 0), shown.moved_bytes.get(name, 0)
    why = f"{format_bytes(more)} of it is spill traffic"
    about = f"{why}; its transfers take {seconds_text(seconds)}"
    moving_fact = fact(f"moves {', '.join(times)}, {seconds_text(seconds)}", format_bytes(crossed))
    return {**moving_fact, "about": about}


def transfers(shown: DisplayedPlan, name: str) -> tuple[int, int, float]:
    """How many loads and stores there are of a tensor, and the seconds of all of them."""
    table = table_of(shown.plan.program)
    if table is None or name not in table.tensors:
        return 0, 0, 0.0
    first = table.first[:-1]
    moves = (table.kind == LOAD) | (table.kind == STORE)
    mine = moves & (
        table.tensor[np.minimum(first, len(table.tensor) - 1)] == table.tensors.index(name)
    )
    times = columns_of_intervals(shown.trace.intervals)
    taken = (times.stop_s - times.start_s)[mine[times.instruction]]
    kinds = table.kind[mine]
    return int((kinds == LOAD).sum()), int((kinds == STORE).sum()), float(taken.sum())


def module(path: str) -> Row:
    """A module's path, shortened in the middle, whole on hover."""
    return {**fact(shortened(path, ROOM)), "about": path}


def shapes(graph: sp.Graph, names: Sequence[str]) -> str:
    """The shapes and element types of tensors, alike ones once."""
    texts = [shape_text(graph.tensors[name]) for name in names]
    several = [f"{texts.count(each)}× {each}" if texts.count(each) > 1 else each for each in texts]
    return ", ".join(dict.fromkeys(several)) or "nothing"


def window(operator: sp.Operator) -> str:
    """Kernel, stride, padding, dilation and groups, as far as they are not the usual ones."""
    words = []
    for name, usual in (("kernel", None), ("stride", 1), ("padding", 0), ("dilation", 1)):
        numbers: tuple[int, ...] = getattr(operator, name)
        if numbers and any(number != usual for number in numbers):
            words.append(f"{name} {'×'.join(map(str, numbers))}")
    if operator.groups != 1:
        words.append(f"{operator.groups} groups")
    return ", ".join(words)


def steps_text(steps: Sequence[int]) -> str:
    """Steps as the page counts them: neighbours as a range, the first few of many."""
    if not steps:
        return "no step"
    spans: list[list[int]] = []
    for step in steps:
        if spans and step == spans[-1][1] + 1:
            spans[-1][1] = step
        else:
            spans.append([step, step])
    texts = [str(a + 1) if a == b else f"{a + 1}–{b + 1}" for a, b in spans[:FEW]]
    more = f" and {len(spans) - FEW} more" if len(spans) > FEW else ""
    return f"step{'s' if len(steps) > 1 else ''} {', '.join(texts)}{more}"
