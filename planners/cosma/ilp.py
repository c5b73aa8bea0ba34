"""The paper's ILP as it stands: variables C, P, S, R, L, V, u, d; equations (1)–(17) by number.

The reference that the search is measured against, and what users may hand to a solver of theirs.
Constraints are named by their equation (`eq5_conv2_conv1_t3`); a letter (`eq4a_…`) marks where
ours differs from the paper's text, in one of these ways:

* `eq1a`, `eq1b` for (1): a tensor may be spilled and retrieved between two steps, moved so to say;
* `eq4a` for (4): what has a host copy without a spill is retrieved once it was there before;
* `eq5a`, `eq5b` beside (5): a graph input or parameter is "created" by its first, compulsory load,
  at its first use;
* `eq7a` beside (7): a timestep runs one operator, which the paper says but does not write;
* `eq14a`, where it is asked for: rows that change no answer;
* `keep`, `spill` and `before`, for wishes: what is kept is never retrieved, what is spilled is
  resident with its users only, and what is to run before another has the smaller timestep.

Variables that no lifetime allows are left out (III-F): windows of first and last timesteps, and
pairs of tensors of which one is dead before the other is born. So (13) is there by omission.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, product
from math import gcd
from typing import Any, Literal

from planners.cosma.ilp_wishes import add_order, add_residency
from planners.cosma.problem import Problem
from planners.cosma.wished import NO_WISHES
from planners.errors import BadInput, Cancelled

Kind = Literal["full", "mpmf", "fixed"]
Key = tuple[str, int]  # tensor, timestep
Pair = tuple[str, str, int]


def load_pulp() -> Any:
    """PuLP, kept from importing `highspy`: no process can hold that and ortools."""
    if "pulp" in sys.modules or "highspy" in sys.modules:
        import pulp
    else:
        sys.modules["highspy"] = None  # type: ignore[assignment]
        try:
            import pulp
        finally:
            del sys.modules["highspy"]
    return pulp


class Windows:
    """Timesteps at which each operator can run and each tensor can live (III-F)."""

    def __init__(self, problem: Problem, fixed: bool) -> None:
        graph = problem.graph
        self.steps = len(graph.operators)
        self.inputs = [
            (*op.inputs, *(op.parameters if problem.parameters else ())) for op in graph.operators
        ]
        self.births: dict[str, tuple[int, ...]] = {}  # the producer, or what reads it first
        self.deaths: dict[str, tuple[int, ...]] = {}
        for line in problem.lines:
            users = graph.consumers[line.tensor]
            made = (graph.producer[line.tensor],) if line.produced else users
            self.births[line.tensor], self.deaths[line.tensor] = made, users or made
        self.dead = {a: sum(1 << i for i in ends) for a, ends in self.deaths.items()}
        self.before = self._ancestors(problem)
        if fixed:
            at = {position: step for step, position in enumerate(problem.schedule)}
            self.earliest = self.latest = [at[i] for i in range(self.steps)]
            # Along one order everything that ran is an ancestor, for what can meet what.
            self.before = [sum(1 << j for j in at if at[j] < at[i]) for i in range(self.steps)]
        else:
            after = [sum(b >> i & 1 for b in self.before) for i in range(self.steps)]
            self.earliest = [b.bit_count() for b in self.before]
            self.latest = [self.steps - 1 - count for count in after]

    @staticmethod
    def _ancestors(problem: Problem) -> list[int]:
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

    problem: Problem
    kind: Kind
    paper_strict: bool
    windows: Windows
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


def build(
    problem: Problem,
    kind: Kind = "full",
    *,
    paper_strict: bool = False,
    tighten: bool = False,
    should_stop: Callable[[], bool] | None = None,
) -> Ilp:
    """The ILP of a problem: `full` (1)–(12), `mpmf` (13)–(15), `fixed` (16)–(17) for its schedule.

    `paper_strict` takes the paper's equations at their word: inputs too are spilled at their size,
    and a tensor is away for a step at least. `tighten` adds rows that (9) and (10) imply, and that
    spare a solver much: what is resident at a timestep fits in all (`eq14a`). `should_stop` is
    asked while a large model is written down. Raises `BudgetTooSmall`, and `Cancelled` on a stop.
    """
    if kind not in ("full", "mpmf", "fixed"):
        raise BadInput(f"kind={kind!r}: choose one of full, mpmf, fixed")
    if kind == "full":
        replace(problem, wished=NO_WISHES).assert_feasible()
    elif kind == "fixed":
        problem.assert_feasible()
    pulp = load_pulp()
    unit = gcd(*(line.size_bytes for line in problem.lines)) or 1
    lp = pulp.LpProblem(f"cosma_{kind}", pulp.LpMinimize)
    ilp = Ilp(problem, kind, paper_strict, Windows(problem, kind == "fixed"), unit, lp)
    builder = _Builder(ilp, pulp, should_stop)
    builder.add_schedule()
    add_order(builder)
    if kind == "mpmf":
        builder.add_peak()
    else:
        builder.add_replacement()
        add_residency(builder)
        builder.add_addresses()
        if tighten:
            builder.add_capacity()
    return ilp


class _Builder:
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

    def add_schedule(self) -> None:
        """C, P, S and R under (1)–(3) and (5)–(7), and (16) where the schedule is fixed."""
        ilp = self.ilp
        for a in ilp.tensors:
            for t in self.windows.created(a):
                self.binary(ilp.C, "C", a, t)
            for t in self.windows.kept(a):
                self.binary(ilp.P, "P", a, t)
                if ilp.kind != "mpmf":
                    self.binary(ilp.R, "R", a, t)
                    if a not in self.host_copy:
                        self.binary(ilp.S, "S", a, t)
        for a in ilp.tensors:
            for t in self.windows.alive(a):
                self._act_once(a, t)
                before = self.created(a, t - 1) + self.preserved(a, t - 1)
                self.add("eq2", (a, t), self.preserved(a, t) <= before + self.retrieved(a, t - 1))
                if (a, t) in ilp.S:
                    self.add("eq3", (a, t), self.spilled(a, t) <= before)
            total = self.pulp.lpSum(self.created(a, t) for t in self.windows.created(a))
            self.add("eq7", (a,), total == 1)
            if ilp.kind == "fixed":
                for t in self.windows.created(a):
                    self.add("eq16", (a, t), self.created(a, t) == self._ordered(a, t))
        self._add_operators()

    def _ordered(self, a: str, t: int) -> int:
        return int(t == min(self.windows.earliest[i] for i in self.windows.births[a]))

    def _act_once(self, a: str, t: int) -> None:
        stays = self.created(a, t) + self.preserved(a, t)
        if self.ilp.paper_strict:
            self.add("eq1", (a, t), stays + self.spilled(a, t) + self.retrieved(a, t) <= 1)
            return
        self.add("eq1a", (a, t), stays + self.retrieved(a, t) <= 1)
        if (a, t) in self.ilp.S:
            self.add("eq1b", (a, t), stays + self.spilled(a, t) <= 1)

    def _add_operators(self) -> None:
        for i, op in enumerate(self.graph.operators):
            first, *siblings = op.outputs
            for t in range(self.windows.earliest[i], self.windows.latest[i] + 1):
                for a, b in product(op.outputs, self.windows.inputs[i]):
                    there = self.preserved(b, t) + self.retrieved(b, t)
                    name = "eq5"
                    if b in self.external:
                        name, there = "eq5a", there + self.created(b, t)
                    self.add(name, (a, b, t), self.created(a, t) <= there)
                for b in siblings:
                    self.add("eq6", (first, b, t), self.created(first, t) == self.created(b, t))
        firsts = [op.outputs[0] for op in self.graph.operators]
        for t in range(self.windows.steps):
            runs = self.pulp.lpSum(self.created(a, t) for a in firsts)
            self.add("eq7a", (t,), runs == 1)
        for x in self.ilp.tensors:
            if x in self.external:
                for t in self.windows.created(x):
                    users = (self.graph.operators[i].outputs[0] for i in self.windows.births[x])
                    used = self.pulp.lpSum(self.created(a, t) for a in users)
                    self.add("eq5b", (x, t), self.created(x, t) <= used)

    def add_peak(self) -> None:
        """(14) and (15)."""
        ilp = self.ilp
        ilp.m_peak = ilp.lp.add_variable("M_peak", 0, None, self.pulp.LpInteger)
        ilp.lp.setObjective(ilp.m_peak + self.nothing)
        for t in range(self.windows.steps):
            held = self.pulp.lpSum(
                ilp.size[a] * (self.created(a, t) + self.preserved(a, t)) for a in ilp.tensors
            )
            self.add("eq14", (t,), held <= ilp.m_peak)

    def add_replacement(self) -> None:
        """(4), (8) and the objective, (12) and (17)."""
        ilp = self.ilp
        for a in ilp.tensors:
            for t in self.windows.kept(a):
                if a in self.host_copy:
                    known = self.pulp.lpSum(self.created(a, k) for k in range(t))
                    self.add("eq4a", (a, t), self.retrieved(a, t) <= known)
                else:
                    written = self.pulp.lpSum(self.spilled(a, k) for k in range(t + 1))
                    self.add("eq4", (a, t), self.retrieved(a, t) <= written)
            spills = self.pulp.lpSum(self.spilled(a, t) for t in self.windows.kept(a))
            self.add("eq8", (a,), spills <= 1)
        moved = [(x, ilp.size[a]) for group in (ilp.S, ilp.R) for (a, _), x in group.items()]
        ilp.lp.setObjective(self.pulp.LpAffineExpression(moved))

    def add_capacity(self) -> None:
        """The footprint of (14), retrieved tensors included, against M_B."""
        sizes = self.ilp.size
        for t in range(self.windows.steps):
            held = self.pulp.lpSum(sizes[a] * self.resident(a, t) for a in sizes)
            self.add("eq14a", (t,), held <= self.ilp.budget)

    def add_addresses(self) -> None:
        """L, V, u and d under (9)–(11)."""
        ilp = self.ilp
        for a in ilp.tensors:
            for t in self.windows.alive(a):
                name = f"L_{self.tag(a, t)}"
                ilp.L[a, t] = ilp.lp.add_variable(name, 0, ilp.budget, self.pulp.LpInteger)
                self.add("eq9", (a, t), ilp.L[a, t] + ilp.size[a] <= ilp.budget)
            for t in self.windows.kept(a):
                self._stay_put(a, t)
        for a, b in combinations(ilp.tensors, 2):
            for t in self.windows.meet(a, b):
                self._keep_apart(a, b, t)

    def _stay_put(self, a: str, t: int) -> None:
        ilp, big = self.ilp, self.ilp.budget
        self.binary(ilp.V, "V", a, t)
        v, here, there = ilp.V[a, t], ilp.L[a, t], ilp.L[a, t - 1]
        before = self.resident(a, t - 1)
        self.add("eq11_1", (a, t), there <= here + big * (1 - v))
        self.add("eq11_2", (a, t), here <= there + big * (1 - v))
        self.add("eq11_3", (a, t), v >= before + self.preserved(a, t) - 1)
        self.add("eq11_4", (a, t), v <= before)
        self.add("eq11_5", (a, t), v <= self.preserved(a, t))

    def _keep_apart(self, a: str, b: str, t: int) -> None:
        ilp, big = self.ilp, self.ilp.budget
        self.binary(ilp.u, "u", a, b, t)
        self.binary(ilp.d, "d", a, b, t)
        u, d, key = ilp.u[a, b, t], ilp.d[a, b, t], (a, b, t)
        self.add("eq10_1", key, u + d <= 1)
        self.add("eq10_2", key, u + d >= self.resident(a, t) + self.resident(b, t) - 1)
        self.add("eq10_3", key, ilp.L[a, t] + ilp.size[a] - ilp.L[b, t] <= big * (1 - d))
        self.add("eq10_4", key, ilp.L[b, t] + ilp.size[b] - ilp.L[a, t] <= big * (1 - u))


def _labels(tensors: list[str]) -> dict[str, str]:
    """Names that LP and MPS files can carry, short and distinct."""
    labels: dict[str, str] = {}
    for tensor in tensors:
        plain = "".join(c if c.isascii() and c.isalnum() else "_" for c in tensor)[:40]
        taken = set(labels.values())
        labels[tensor] = plain if plain not in taken else f"{plain}_{len(labels)}"
    return labels
