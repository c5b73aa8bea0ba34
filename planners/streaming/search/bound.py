"""A delay that is never exceeded, and the band in which delays mostly lie.

Places in rings depend on sizes alone, so every end is a maximum of sums of times
(`planners.streaming.schedule.recurrence`): with times that are nowhere longer than some upper
bounds, no end is later than with those bounds. The paper leaves this to future work (section IX).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from planners.core.details.streamed import DelayBand
from planners.core.errors import BadInput
from planners.core.graph import Graph
from planners.streaming.emit.program import stored_s
from planners.streaming.model.layers import Layer
from planners.streaming.model.table import OperatorTimes
from planners.streaming.model.times import Times
from planners.streaming.schedule.pipelines import Schedule, timed
from planners.streaming.search.choose import ScheduleChoice


def delay_with(
    graph: Graph, times: Times, choice: ScheduleChoice, layers: Sequence[Layer]
) -> float:
    """The delay of a choice's schedule, places and all, with other times of its layers."""
    schedule: Schedule = timed(choice.schedule, layers, choice.way.start)
    return stored_s(graph, choice.way.units, schedule, times) - schedule.preload_s


def guaranteed_bound(
    graph: Graph, times: Times, choice: ScheduleChoice, spread: float = 0.0
) -> float | None:
    """The delay with every time at its upper bound; None where nothing bounds the times.

    Upper bounds are the largest samples of a table, times 1 + `spread`.
    """
    if not spread and not _sampled(times):
        return None
    return delay_with(graph, times, choice, upper(times, choice, spread))


def upper(times: Times, choice: ScheduleChoice, spread: float) -> tuple[Layer, ...]:
    """Layers with the upper bounds of their times."""
    layers = choice.schedule.layers
    if isinstance(times, OperatorTimes):
        layers = times.largest(choice.way.units, _stages(choice))
    return tuple(_longer(layer, *(1.0 + spread,) * 3) for layer in layers)


def drawn(times: Times, choice: ScheduleChoice, spread: float, random: Random) -> tuple[Layer, ...]:
    """Layers with times drawn each for itself: a sample of a table, or the model's own time,
    and up to `spread` of it more, uniformly."""
    layers: Sequence[Layer] = choice.schedule.layers
    if isinstance(times, OperatorTimes):
        samples = times.drawn(choice.way.units, _stages(choice))
        layers = [
            replace(
                random.choice(rows),
                read_s=random.choice(rows).read_s,
                copy_s=random.choice(rows).copy_s,
            )
            for rows in samples
        ]
    return tuple(
        _longer(layer, *(1.0 + spread * random.random() for _ in range(3))) for layer in layers
    )


def band(
    graph: Graph,
    times: Times,
    choice: ScheduleChoice,
    draws: int,
    seed: int = 0,
    spread: float = 0.0,
) -> DelayBand:
    """The delays of that many draws. Raises `BadInput` for none."""
    if draws < 1:
        raise BadInput(f"a band needs at least one draw, not {draws}")
    random = Random(seed)
    delays = sorted(
        delay_with(graph, times, choice, drawn(times, choice, spread, random)) for _ in range(draws)
    )

    def at(share: float) -> float:
        return delays[round(share * (draws - 1))]

    return DelayBand(draws, delays[0], at(0.05), at(0.5), at(0.95), delays[-1])


def _stages(choice: ScheduleChoice) -> int:
    return len(choice.schedule.rings) + 1


def _sampled(times: Times) -> bool:
    return isinstance(times, OperatorTimes) and any(
        len(rows) > 1 for rows in times.samples.values()
    )


def _longer(layer: Layer, read: float, copy: float, kernel: float) -> Layer:
    return replace(
        layer,
        read_s=layer.read_s * read,
        copy_s=layer.copy_s * copy,
        kernel_s=layer.kernel_s * kernel,
    )
