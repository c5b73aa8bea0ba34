"""What is asked of a student, and what is said of an answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from planners.core.graph import Graph
from planners.core.units import format_bytes

Answer = Literal["addresses", "order", "moves", "plan"]
Measure = Literal["noncompulsory_bytes", "traffic_bytes", "peak_bytes", "extent_bytes", "latency_s"]

WORDS: Mapping[Measure, str] = {
    "noncompulsory_bytes": "moves {} more than what must move",
    "traffic_bytes": "moves {} over the bus",
    "peak_bytes": "peaks at {}",
    "extent_bytes": "uses addresses up to {}",
    "latency_s": "takes {}",
}


@dataclass(frozen=True, slots=True)
class Goal:
    """A number of the replayed answer, in bytes or seconds, that may be `most` at most."""

    measure: Measure
    most: float

    def words(self, value: float) -> str:
        """The measure with a value of it: `peaks at 300 KiB`."""
        return WORDS[self.measure].format(_with_unit(self.measure, value))

    @property
    def limit(self) -> str:
        """The most that passes, with its unit."""
        return _with_unit(self.measure, self.most)


def _with_unit(measure: Measure, value: float) -> str:
    return f"{1e3 * value:.4g} ms" if measure == "latency_s" else format_bytes(int(value))


@dataclass(frozen=True)
class Exercise:
    """A task: a `graph` to run in `budget_bytes` of the machine so that the `goals` hold.

    `answer` says what is written by hand: an address for each tensor, an order of operators, or
    moves; a plan answers any of them. Without a budget nothing but the goals bounds the memory.
    `weights`: whether parameters count (`left-out`, `counted`). `starter` is an answer to begin
    with that does not pass. `planner` and `options` are how the teacher's solution is planned.
    """

    name: str
    title: str
    text: str
    make_graph: Callable[[], Graph]
    answer: Answer
    goals: tuple[Goal, ...]
    planner: str
    budget_bytes: int | None = None
    machine: str = "npu_ideal"
    weights: str = "left-out"
    starter: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    def graph(self) -> Graph:
        """The network that is asked about."""
        return self.make_graph()


@dataclass(frozen=True)
class Judgement:
    """Whether an answer passes, and why: `says` is one sentence, `measured` what was replayed."""

    assignment: str
    passed: bool
    says: str
    measured: Mapping[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Plain data for `json.dumps`."""
        data = {"assignment": self.assignment, "passed": self.passed, "says": self.says}
        return {**data, "measured": dict(self.measured)}
