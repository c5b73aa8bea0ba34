"""The paper's ILP as it stands: variables C, P, S, R, L, V, u, d; equations (1)–(17) by number.

The reference that the search is measured against, and what users may give to their own solver.
Constraints are named by their equation (`eq5_conv2_conv1_t3`); a letter (`eq4a_…`) marks where
ours differs from the paper's text, in one of these ways:

* `eq1a`, `eq1b` for (1): a tensor may be spilled and retrieved between two steps, moved so to say;
* `eq4a` for (4): what has a host copy without a spill is retrieved once it was there before;
* `eq5a`, `eq5b` beside (5): a graph input or parameter is "created" by its first, compulsory load,
  at its first use;
* `eq7a` beside (7): a timestep runs one operator, which the paper says but does not write;
* `eq14a`, where requested: rows that change no answer;
* `keep`, `spill` and `before`, for wishes: what is kept is never retrieved, what is spilled is
  resident with its users only, and what is to run before another has the smaller timestep.

Variables that no lifetime allows are left out (`variables`). So (13) is there by omission.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations, product
from math import gcd

from planners.core.errors import BadInput
from planners.cosma.ilp.variables import Ilp, Kind, TimeWindows, Variables, load_pulp
from planners.cosma.model.constraints import NO_WISHES
from planners.cosma.model.problem import ScheduleProblem

# ---- Wishes in the paper's ILP: rows of their own over its C, P and R ----------------------------


def add_order(builder: Variables) -> None:
    """What is to run before another has the smaller timestep, where the schedule is open."""
    ilp, graph, windows = builder.ilp, builder.graph, builder.windows
    for pair in ilp.problem.wished.before if ilp.kind != "fixed" else ():
        first, then = (graph.operators[graph.index[name]].outputs[0] for name in pair)
        at = [
            builder.pulp.lpSum(t * builder.created(a, t) for t in windows.created(a))
            for a in (first, then)
        ]
        builder.add("before", (first, then), at[0] + 1 <= at[1])


def add_residency(builder: Variables) -> None:
    """What is kept is never retrieved; what is spilled is resident with its users only."""
    graph, wished = builder.graph, builder.ilp.problem.wished
    for a in builder.ilp.tensors:
        for t in builder.windows.kept(a) if a in wished.keep | wished.spill else ():
            if a in wished.keep:
                builder.add("keep", (a, t), builder.retrieved(a, t) == 0)
            else:
                readers = (graph.operators[i] for i in graph.consumers[a])
                used = builder.pulp.lpSum(builder.created(op.outputs[0], t) for op in readers)
                there = builder.preserved(a, t) + builder.retrieved(a, t)
                builder.add("spill", (a, t), there <= used)


# --------------------------------------------------------------------------------------------------


def build(
    problem: ScheduleProblem,
    kind: Kind = "full",
    *,
    paper_strict: bool = False,
    tighten: bool = False,
    should_stop: Callable[[], bool] | None = None,
) -> Ilp:
    """The ILP of a problem: `full` (1)–(12), `mpmf` (13)–(15), `fixed` (16)–(17) for its schedule.

    `paper_strict` takes the paper's equations literally: spilling an input costs its size too,
    and a tensor is away for a step at least. `tighten` adds rows that (9) and (10) imply, and that
    save a solver much time: all that is resident at a timestep fits (`eq14a`). `should_stop` is
    polled while a large model is built. Raises `BudgetTooSmall`, and `Cancelled` on a stop.
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
    ilp = Ilp(problem, kind, paper_strict, TimeWindows(problem, kind == "fixed"), unit, lp)
    builder = _RowBuilder(ilp, pulp, should_stop)
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


class _RowBuilder(Variables):
    """The paper's rows, by equation."""

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
            resident_bytes = self.pulp.lpSum(
                ilp.size[a] * (self.created(a, t) + self.preserved(a, t)) for a in ilp.tensors
            )
            self.add("eq14", (t,), resident_bytes <= ilp.m_peak)

    def add_replacement(self) -> None:
        """(4), (8) and the objective, (12) and (17)."""
        ilp = self.ilp
        for a in ilp.tensors:
            for t in self.windows.kept(a):
                if a in self.host_copy:
                    created_before = self.pulp.lpSum(self.created(a, k) for k in range(t))
                    self.add("eq4a", (a, t), self.retrieved(a, t) <= created_before)
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
            resident_bytes = self.pulp.lpSum(sizes[a] * self.resident(a, t) for a in sizes)
            self.add("eq14a", (t,), resident_bytes <= self.ilp.budget)

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
