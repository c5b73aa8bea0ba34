"""What a user requires of a plan: wishes of one line each, checked by replay.

"keep T" (tensor T stays on chip from its first use to its last), "spill T" (T is on chip only while
what reads or writes it runs), "A before B" (operators), "fuse A B" and "split A B" (in one fused
group or not). Planners declare which kinds they know; nothing here depends on planners.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from planners.core.boxes import meet
from planners.core.errors import BadInput
from planners.core.graph import Graph
from planners.core.plan import Plan
from planners.core.program import Box, Compute, Load, Program
from planners.simulator.check import replay
from planners.simulator.records.residency import Residency

Kind = Literal["keep", "spill", "before", "fuse", "split"]
KINDS: tuple[Kind, ...] = get_args(Kind)
FORMS = '"keep T", "spill T", "A before B", "fuse A B" or "split A B"'


@dataclass(frozen=True, slots=True)
class Wish:
    """A wish about one tensor (`keep`, `spill`) or two operators (`before`, `fuse`, `split`)."""

    kind: Kind
    names: tuple[str, ...]

    def __str__(self) -> str:
        if self.kind == "before":
            return f"{self.names[0]} before {self.names[1]}"
        return " ".join((self.kind, *self.names))

    @property
    def about(self) -> tuple[Kind, tuple[str, ...]]:
        """Equal for wishes that require the same: fused or split operators have no order."""
        return self.kind, self.names if self.kind == "before" else tuple(sorted(self.names))


def parse(texts: Any, graph: Graph) -> tuple[Wish, ...]:
    """The wishes of a list of texts, each once, in their order.

    Raises `BadInput` for a text that is not a wish, with the nearest kind or name.
    """
    if not isinstance(texts, (list, tuple)) or not all(isinstance(text, str) for text in texts):
        raise BadInput(f"wishes must be a list of texts such as {FORMS}, not {texts!r:.60}")
    wishes: dict[object, Wish] = {}
    for text in texts:
        wish = _parsed(text, graph)
        wishes.setdefault(wish.about, wish)
    return tuple(wishes.values())


def _parsed(text: str, graph: Graph) -> Wish:
    words = text.split()
    kind, names = (words[0] if words else ""), tuple(words[1:])
    if len(words) == 3 and words[1] == "before":
        kind, names = "before", (words[0], words[2])
    for each in KINDS:
        if kind == each:
            return _named(text, each, names, graph)
    near_kinds = [word for word in words if difflib.get_close_matches(word, KINDS, 1)]
    nearest = difflib.get_close_matches(near_kinds[0], KINDS, 1) if near_kinds else []
    hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
    raise BadInput(f"{text!r:.80} is not a wish: write {FORMS}{hint}")


def _named(text: str, kind: Kind, names: tuple[str, ...], graph: Graph) -> Wish:
    of_tensor = kind in ("keep", "spill")
    what: str = "tensor" if of_tensor else "operator"
    names_there: Collection[str] = graph.tensors if of_tensor else graph.index
    count = 1 if of_tensor else 2
    if len(names) != count:
        things = "one tensor" if of_tensor else "two operators"
        raise BadInput(f"wish {text!r:.80} must name {things}, not {len(names)}: write {FORMS}")
    for name in names:
        if name not in names_there:
            nearest = _across(name, graph) or difflib.get_close_matches(name, names_there, 1)
            hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
            raise BadInput(f"wish {text!r:.80}: {graph.name!r} has no {what} {name!r:.60}{hint}")
    if len(set(names)) < count:
        raise BadInput(f"wish {text!r:.80} names one operator twice: name two")
    return Wish(kind, names)


def _across(name: str, graph: Graph) -> Sequence[str]:
    """Of an operator's name what it writes, of a tensor's the operator that writes it."""
    if name in graph.index:
        return graph.operators[graph.index[name]].outputs
    return (graph.operators[graph.producer[name]].name,) if name in graph.producer else ()


def require_known(wishes: Iterable[Wish], kinds: Sequence[Kind], planner: str) -> None:
    """Raise `BadInput` for a wish of a kind that a planner does not know."""
    for wish in wishes:
        if wish.kind not in kinds:
            forms = ", ".join(_FORM[kind] for kind in kinds)
            knows = f"it supports {forms}" if kinds else "it supports none"
            raise BadInput(f"wish {str(wish)!r:.80}: {planner} does not support it; {knows}")


def refused(options: Mapping[str, Any], graph: Graph, planner: str) -> dict[str, Any]:
    """The options of a planner that knows no wishes, without them. Raises `BadInput` for one."""
    require_known(parse(options.get("wishes", ()), graph), (), planner)
    return {name: value for name, value in options.items() if name != "wishes"}


_FORM = {
    "keep": '"keep T"',
    "spill": '"spill T"',
    "before": '"A before B"',
    "fuse": '"fuse A B"',
    "split": '"split A B"',
}


def broken(plan: Plan, wishes: Iterable[Wish]) -> list[Wish]:
    """The wishes that a plan's program does not respect, found by replaying it.

    Operators whose instructions share a step, by way of others too, make a group: a fused group,
    a run of overlapping layers, or an operator alone. Raises `InvalidPlan` for a wrong program.
    """
    wishes = list(wishes)
    if not wishes:
        return []
    facts = _ProgramFacts(plan)
    return [wish for wish in wishes if not facts.respect(wish)]


class _ProgramFacts:
    """What a program does with tensors and operators, as far as wishes are about it."""

    def __init__(self, plan: Plan) -> None:
        self.graph = plan.graph
        self.offchip = {m.name for m in plan.program.memories if m.offchip}
        report = replay(plan.graph, plan.program)
        self.stays: dict[str, list[Residency]] = {}
        for residency in report.residencies:
            if residency.memory not in self.offchip:
                self.stays.setdefault(residency.tensor, []).append(residency)
        self.first: dict[str, int] = {}
        self.last: dict[str, int] = {}
        self.loads: dict[str, list[Box]] = {}
        self.group = _Groups(len(plan.program.steps))
        self._read(plan.program)

    def _read(self, program: Program) -> None:
        for at, item in enumerate(program.instructions):
            if isinstance(item, Compute):
                self.first.setdefault(item.operator, at)
                self.last[item.operator] = at
                self.group.join(item.operator, item.step)
            elif isinstance(item, Load) and item.source.memory in self.offchip:
                self.loads.setdefault(item.piece.tensor, []).append(item.piece.box)

    def respect(self, wish: Wish) -> bool:
        match wish.kind, wish.names:
            case "keep", (tensor,):
                return self._kept(tensor)
            case "spill", (tensor,):
                return self._on_chip_in_use_only(tensor)
            case "before", (a, b):
                return self.last[a] < self.first[b]
            case _, (a, b):
                return (self.group.root(a) == self.group.root(b)) == (wish.kind == "fuse")
        raise AssertionError(f"{wish} names a tensor or two operators")

    def _kept(self, tensor: str) -> bool:
        """On chip at all, and no byte comes from off chip that was there before."""
        loads = self.loads.get(tensor, [])
        if tensor in self.graph.producer:
            return tensor in self.stays and not loads
        again = any(meet(box, other) for i, box in enumerate(loads) for other in loads[:i])
        return tensor in self.stays and not again

    def _on_chip_in_use_only(self, tensor: str) -> bool:
        """In each step that holds some of it, its group reads or writes it."""
        users = {*self.graph.consumers[tensor], self.graph.producer.get(tensor, -1)} - {-1}
        groups = {self.group.root(self.graph.operators[i].name) for i in users}
        return all(
            self.group.root(step) in groups
            for residency in self.stays.get(tensor, [])
            for step in range(residency.start_step, residency.stop_step)
        )


class _Groups:
    """Operators and steps, joined where an operator has an instruction in a step."""

    def __init__(self, steps: int) -> None:
        self._up: dict[str | int, str | int] = {step: step for step in range(steps)}

    def root(self, item: str | int) -> str | int:
        """What stands for an item's group."""
        root = item
        while self._up[root] != root:
            root = self._up[root]
        while self._up[item] != root:
            self._up[item], item = root, self._up[item]
        return root

    def join(self, operator: str, step: int) -> None:
        self._up.setdefault(operator, step)
        self._up[self.root(operator)] = self.root(step)
