"""Networks by name with their periods, as they are written: `yolov4:100:80` is in milliseconds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from planners.core.errors import BadInput
from planners.core.graph import Graph
from planners.core.machine import Machine
from planners.streaming.model.layers import Layer, divided
from planners.streaming.model.times import ParameterRoute, times_of
from planners.streaming.several.tasks import PeriodicTask, exact, task


@dataclass(frozen=True, slots=True)
class NetworkEntry:
    """A model, its period and its deadline in seconds; None where not given."""

    model: str
    period_s: Fraction | None
    deadline_s: Fraction | None


def entry(text: str) -> NetworkEntry:
    """`MODEL[:PERIOD_MS[:DEADLINE_MS]]`; a model's name may have colons of its own.

    >>> entry("timm:resnet18:33.3:20")
    NetworkEntry(model='timm:resnet18', period_s=Fraction(333, 10000), deadline_s=Fraction(1, 50))

    Raises `BadInput` where nothing is left for the model.
    """
    parts, numbers = text.split(":"), list[Fraction]()
    while len(parts) > 1 and len(numbers) < 2 and (number := _number(parts[-1])) is not None:
        numbers.insert(0, number / 1000)
        parts.pop()
    model = ":".join(parts)
    if not model.strip():
        raise BadInput(f"{text!r:.60} names no model: write MODEL:PERIOD_MS:DEADLINE_MS")
    period, deadline = [*numbers, None, None][:2]
    return NetworkEntry(model, period, deadline)


def _number(text: str) -> Fraction | None:
    try:
        return exact(text)
    except BadInput:
        return None


def names_of(models: Sequence[str]) -> list[str]:
    """A name for each: models that are there several times are numbered.

    >>> names_of(["a", "b", "a"])
    ['a', 'b', 'a#2']
    """
    count: Counter[str] = Counter()
    names = []
    for model in models:
        count[model] += 1
        names.append(model if count[model] == 1 else f"{model}#{count[model]}")
    return names


def tasks_of(
    entries: Sequence[NetworkEntry],
    graphs: Sequence[Graph],
    machine: Machine,
    period_s: Fraction,
    *,
    stages: int = 2,
    slices: int = 1,
    spread: float = 0.0,
) -> tuple[PeriodicTask, ...]:
    """A task of each network; the one named first has the highest priority.

    `period_s` is for those without one. Upper bounds are the machine's times, longer by a share
    of `spread`. Raises `BadInput` where the machine lacks the engines for three stages.
    """
    if stages == 3 and not ParameterRoute(machine).two_rings:
        raise BadInput(
            f"machine {machine.name!r} has no engine 'storage': it cannot read and copy at once; "
            "choose 2 stages"
        )
    tasks = []
    names = names_of([graph.name for graph in graphs])
    for i, (entry, graph, name) in enumerate(zip(entries, graphs, names, strict=True)):
        layers = times_of(graph, machine).layers(divided(graph, slices), stages)
        bounds = tuple(_longer(layer, 1.0 + spread) for layer in layers)
        period = period_s if entry.period_s is None else entry.period_s
        tasks.append(task(name, bounds, period, entry.deadline_s, i))
    return tuple(tasks)


def _longer(layer: Layer, factor: float) -> Layer:
    return replace(
        layer,
        read_s=layer.read_s * factor,
        copy_s=layer.copy_s * factor,
        kernel_s=layer.kernel_s * factor,
    )
