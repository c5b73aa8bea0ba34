"""The variables of the paper's ILP, and when each of them exists.

Those that no lifetime allows are left out (III-F): windows of first and last timesteps, and pairs
of tensors of which one is dead before the other is born. Zero stands for them in constraints.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from planners.core.errors import BadInput, Cancelled
from planners.cosma.model.problem import ScheduleProblem

PULP = "3"
"""The major version whose interface this is."""
Kind = Literal["full", "mpmf", "fixed"]
Key = tuple[str, int]  # tensor, timestep
Pair = tuple[str, str, int]


def load_pulp() -> Any:
    """PuLP, kept from importing `highspy`: one process cannot load both that and ortools.

    Raises `BadInput` for a version with another interface.
    """
    if "pulp" in sys.modules or "highspy" in sys.modules:
        import pulp
    else:
        sys.modules["highspy"] = None  # type: ignore[assignment]
        try:
            import pulp
        finally:
            del sys.modules["highspy"]
    version = str(getattr(pulp, "__version__", ""))
    if version.partition(".")[0] != PULP:
        raise BadInput(
            f"integer programs need PuLP {PULP}, and {version or 'another'} is installed: "
            f"pip install 'pulp<{int(PULP) + 1}', or another method"
        )
    return pulp


class TimeWindows:
    """Timesteps at which each operator can run and each tensor can live (III-F)."""

    def __init__(self, problem: ScheduleProblem, fixed: bool) -> None:
        graph = problem.graph
        self.steps = len(graph.operators)
        self.inputs = [
            (*op.inputs, *(op.parameters if problem.parameters else ())) for op in graph.operators
        ]
        self.births: dict[str, tuple[int, ...]] = {}  # the producer, or what reads it first
        self.deaths: dict[str, tuple[int, ...]] = {}
        for line in problem.lines:
            users = graph.consumers[line.tensor]
            births = (graph.producer[line.tensor],) if line.produced else users
            self.births[line.tensor], self.deaths[line.tensor] = births, users or births
        self.dead = {a: sum(1 << i for i in ends) for a, ends in self.deaths.items()}
        self.before = self._ancestors(problem)
        if fixed:
            at = {position: step for step, position in enumerate(problem.schedule)}
            self.earliest = self.latest = [at[i] for i in range(self.steps)]
            # In a fixed order all earlier operators are ancestors, for which tensors coexist.
            self.before = [sum(1 << j for j in at if at[j] < at[i]) for i in range(self.steps)]
        else:
            after = [sum(b >> i & 1 for b in self.before) for i in range(self.steps)]
            self.earliest = [b.bit_count() for b in self.before]
            self.latest = [self.steps - 1 - count for count in after]

    @staticmethod
    def _ancestors(problem: ScheduleProblem) -> list[int]:
        graph, before = problem.graph, [0] * len(problem.graph.operators)
        for i, op in enumerate(graph.operators):
            for tensor in op.inputs:
                if tensor in graph.producer:
                    near = graph.producer[tensor]
                    before[i] |= before[near] | 1 << near
        return before

    def created(self, tensor: str) -> range:
        """Timesteps of C: when the producer can run, or the first load can come."""
        births = self.births[tensor]
        return range(min(self.earliest[i] for i in births), self.last_birth(tensor) + 1)

    def last_birth(self, tensor: str) -> int:
        # The first of several readers has run once any of them must have.
        return min(self.latest[i] for i in self.births[tensor])

    def kept(self, tensor: str) -> range:
        """Timesteps of P, S and R: after the first possible creation, to the last possible use."""
        if self.births[tensor] == self.deaths[tensor] and len(self.deaths[tensor]) == 1:
            return range(0)
        return range(
            self.created(tensor)[0] + 1, max(self.latest[i] for i in self.deaths[tensor]) + 1
        )

    def alive(self, tensor: str) -> range:
        return range(self.created(tensor)[0], max([*self.kept(tensor), *self.created(tensor)]) + 1)

    def meet(self, a: str, b: str) -> range:
        """Timesteps at which both can be resident; none where one is dead before the other."""
        if self._precedes(a, b) or self._precedes(b, a):
            return range(0)
        first, second = self.alive(a), self.alive(b)
        return range(max(first.start, second.start), min(first.stop, second.stop))

    def _precedes(self, a: str, b: str) -> bool:
        return all(not self.dead[a] & ~self.before[i] for i in self.births[b])


@dataclass
class Ilp:
    """A model of one of the three kinds, with its variables by tensor and timestep.

    Sizes and addresses count `unit` bytes. `lp` is PuLP's problem.
    """

    problem: ScheduleProblem
    kind: Kind
    paper_strict: bool
    windows: TimeWindows
    unit: int
    lp: Any
    C: dict[Key, Any] = field(default_factory=dict)
    P: dict[Key, Any] = field(default_factory=dict)
    S: dict[Key, Any] = field(default_factory=dict)
    R: dict[Key, Any] = field(default_factory=dict)
    L: dict[Key, Any] = field(default_factory=dict)
    V: dict[Key, Any] = field(default_factory=dict)
    u: dict[Pair, Any] = field(default_factory=dict)
    d: dict[Pair, Any] = field(default_factory=dict)
    m_peak: Any = None

    @cached_property
    def size(self) -> dict[str, int]:
        """Size(a) in units."""
        return {line.tensor: line.size_bytes // self.unit for line in self.problem.lines}

    @property
    def budget(self) -> int:
        """M_B in units; also the big M of (10) and (11), which no address exceeds."""
        return self.problem.budget_bytes // self.unit

    @property
    def tensors(self) -> list[str]:
        return [line.tensor for line in self.problem.lines]


class Variables:
    """An ILP being written down: variables or what stands for them, constraints by name."""

    def __init__(self, ilp: Ilp, pulp: Any, should_stop: Callable[[], bool] | None) -> None:
        self.should_stop, self.count = should_stop, 0
        self.ilp, self.pulp, self.windows = ilp, pulp, ilp.windows
        self.graph = ilp.problem.graph
        self.host_copy = {
            line.tensor for line in ilp.problem.lines if line.host_copy and not ilp.paper_strict
        }
        self.external = {line.tensor for line in ilp.problem.lines if not line.produced}
        self.label = _labels(ilp.tensors)
        self.nothing = pulp.LpAffineExpression()

    # Variables, and what stands for them where no lifetime allows one.
    def binary(self, into: dict[Any, Any], letter: str, *key: Any) -> None:
        name = f"{letter}_{self.tag(*key)}"
        into[key] = self.ilp.lp.add_variable(name, 0, 1, self.pulp.LpBinary)

    def tag(self, *key: Any) -> str:
        return "_".join(f"t{k}" if isinstance(k, int) else self.label[k] for k in key)

    def add(self, name: str, key: tuple[Any, ...], constraint: Any) -> None:
        """Add a constraint under its equation's name, unless all of it was left out."""
        self.count += 1
        if self.should_stop and self.count % 1000 == 0 and self.should_stop():
            raise Cancelled("stopped while the ILP was written down")
        if len(constraint):
            self.ilp.lp.addConstraint(constraint, f"{name}_{self.tag(*key)}")

    def created(self, a: str, t: int) -> Any:
        return self.ilp.C.get((a, t), self.nothing)

    def preserved(self, a: str, t: int) -> Any:
        return self.ilp.P.get((a, t), self.nothing)

    def spilled(self, a: str, t: int) -> Any:
        return self.ilp.S.get((a, t), self.nothing)

    def retrieved(self, a: str, t: int) -> Any:
        return self.ilp.R.get((a, t), self.nothing)

    def resident(self, a: str, t: int) -> Any:
        """res of (10)."""
        return self.created(a, t) + self.preserved(a, t) + self.retrieved(a, t)


def _labels(tensors: list[str]) -> dict[str, str]:
    """Names that LP and MPS files can carry, short and distinct."""
    labels: dict[str, str] = {}
    for tensor in tensors:
        plain = "".join(c if c.isascii() and c.isalnum() else "_" for c in tensor)[:40]
        taken = set(labels.values())
        labels[tensor] = plain if plain not in taken else f"{plain}_{len(labels)}"
    return labels
