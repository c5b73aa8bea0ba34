"""Wishes as the page has them: texts, which planner supports them, what a selection allows.

The texts are the library's (`planners.constraints.language`). Pure functions; no Panel here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from app.model.state import TENSOR, ProblemFields, selected_operators
from planners.core.weights import COUNTED, weights_of

if TYPE_CHECKING:
    from app.model.displayed_plan import DisplayedPlan

KNOWN: Mapping[str, tuple[str, ...]] = {
    "cosma": ("keep", "spill", "before"),
    "fusion": ("fuse", "split", "keep", "spill"),
    "joined": ("keep", "spill", "fuse", "split"),
}
"""The kinds of wishes that each planner supports; planners not listed support none."""

MARKS: Mapping[str, str] = {"keep": "⚓", "spill": "⏏", "before": "≺", "fuse": "∪", "split": "∥"}
TITLES: Mapping[str, str] = {"cosma": "COSMA", "fusion": "Optimus", "joined": "joined"}
NEIGHBOURS = 3
WISH, DROP, PICK, BREAK = "wish ", "drop ", "pick ", "break "
"""What the keys of offers begin with: what follows is a wish, or a kind and an operator."""


@dataclass(frozen=True, slots=True)
class WishOffer:
    """A button: its label, its action, its hover text, and whether it is pressed."""

    label: str
    key: str
    about: str = ""
    on: bool = False


def kind_of(text: str) -> str:
    """The kind of a wish, by its text; of a text that is no wish, its first word."""
    words = text.split()
    if len(words) == 3 and words[1] == "before":
        return "before"
    return words[0] if words else ""


def names_of(text: str) -> tuple[str, ...]:
    """The tensor or the operators that a wish names."""
    words = text.split()
    return (words[0], words[2]) if kind_of(text) == "before" else tuple(words[1:])


def asked(problem: ProblemFields) -> list[str]:
    """The wishes that the chosen planner is asked to respect."""
    known = KNOWN.get(problem.planner, ())
    return [text for text in problem.wishes if kind_of(text) in known]


def added(wishes: Iterable[str], text: str) -> list[str]:
    """The wishes with one more, without those that contradict it."""
    return [*(other for other in wishes if not _against(other, text)), text]


def _against(one: str, other: str) -> bool:
    """Whether two wishes are the same, or about the same thing and cannot both be satisfied."""
    kinds, names = {kind_of(one), kind_of(other)}, (names_of(one), names_of(other))
    if kinds <= {"keep", "spill"}:
        return names[0] == names[1]
    same = set(names[0]) == set(names[1])
    return same and (kinds == {"before"} or kinds <= {"fuse", "split"})


def why_not_asked(text: str, planner: str) -> str:
    """Why a wish is not sent to a planner; empty where it is."""
    known = KNOWN.get(planner, ())
    if kind_of(text) in known:
        return ""
    who = [TITLES[name] for name, kinds in KNOWN.items() if kind_of(text) in kinds]
    does = "does" if len(who) == 1 else "do"
    return f"{planner} knows no such wish" + (f"; {' and '.join(who)} {does}" if who else "")


def wished_tensor(shown: DisplayedPlan, selection: str) -> str:
    """The tensor that a wish would be about: the selected one, or the selected operator's."""
    if selection.startswith(TENSOR):
        name = selection.removeprefix(TENSOR)
        return name if name in shown.graph.tensors else ""
    operator = wished_operator(shown, selection)
    if not operator:
        return ""
    return str(shown.graph.operators[shown.graph.index[operator]].outputs[0])


def wished_operator(shown: DisplayedPlan, selection: str) -> str:
    """The operator that is selected directly, not through its tensor."""
    if not selection or selection.startswith(TENSOR):
        return ""
    operators = selected_operators(shown.graph, selection)
    return operators[0] if len(operators) == 1 else ""


def offers(
    shown: DisplayedPlan, selection: str, wishes: Sequence[str], planner: str
) -> list[WishOffer]:
    """The buttons that make sense for what is selected, under a planner."""
    known, buttons = KNOWN.get(planner, ()), list[WishOffer]()
    tensor, operator = wished_tensor(shown, selection), wished_operator(shown, selection)
    if tensor and "keep" in known and not why_no_choice(shown, tensor, planner):
        buttons += _of_tensor(tensor, wishes, "its output " if operator else "")
    if operator and "before" in known:
        about = "then tap the other operator; Escape gives up"
        buttons.append(WishOffer("Run before…", f"{PICK}before {operator}", about))
        buttons.append(WishOffer("Run after…", f"{PICK}after {operator}", about))
    if operator and "fuse" in known:
        buttons += _of_groups(shown, operator, wishes)
    return buttons


def why_no_choice(shown: DisplayedPlan, tensor: str, planner: str) -> str:
    """Why a planner has no choice about a tensor: parameters may not be counted, and with groups
    only tensors that operators write are planned. Empty where it has a choice."""
    kind = shown.graph.tensors[tensor].kind
    if planner in ("fusion", "joined") and kind != "activation":
        return f"{planner} chooses for what operators make, and {tensor} is loaded"
    if kind == "parameter" and weights_of(shown.graph, shown.plan.program) != COUNTED:
        return f"parameters do not count in this plan, and {tensor} is one"
    return ""


def _of_tensor(tensor: str, wishes: Sequence[str], whose: str) -> list[WishOffer]:
    keep = f"{tensor} stays on chip from its first use to its last:  k"
    off = f"{tensor} is on chip only while something reads or writes it:  o"
    return [
        _toggle(f"Keep {whose}on chip", f"keep {tensor}", keep, wishes),
        _toggle(f"Keep {whose}off chip", f"spill {tensor}", off, wishes),
    ]


def _of_groups(shown: DisplayedPlan, operator: str, wishes: Sequence[str]) -> list[WishOffer]:
    """Buttons to fuse with the readers of what it writes, or split from them, or pick any
    operator."""
    graph, group = shown.graph, shown.group_of
    written = graph.operators[graph.index[operator]].outputs
    readers = dict.fromkeys(graph.operators[i].name for t in written for i in graph.consumers[t])
    buttons = []
    for name in list(readers)[:NEIGHBOURS]:
        together = operator in group and group.get(operator) == group.get(name)
        label, kind = (f"Split from {name}", "split") if together else (f"Fuse with {name}", "fuse")
        held = next((w for w in wishes if set(names_of(w)) == {operator, name}), "")
        text = held if kind_of(held) in ("fuse", "split") else f"{kind} {operator} {name}"
        if held:
            label = f"{'Fuse with' if kind_of(held) == 'fuse' else 'Split from'} {name}"
        buttons.append(_toggle(label, text, "the operator that reads what it writes", wishes))
    about = "then tap the other operator; Escape gives up"
    buttons.append(WishOffer("Fuse with…", f"{PICK}fuse {operator}", about))
    return [*buttons, WishOffer("Split from…", f"{PICK}split {operator}", about)]


def _toggle(label: str, text: str, about: str, wishes: Sequence[str]) -> WishOffer:
    on = text in wishes
    return WishOffer(
        label, (DROP if on else WISH) + text, "tap to wish it no more" if on else about, on
    )


def picked_wish(kind: str, first: str, second: str) -> str:
    """The wish about the operator of the first button and the one that was tapped afterwards."""
    if kind == "after":
        return f"{second} before {first}"
    return f"{first} before {second}" if kind == "before" else f"{kind} {first} {second}"


def picking_text(picking: Mapping[str, Any]) -> str:
    """What is to be tapped next."""
    words = {
        "before": "Tap the operator before which {} is to run.",
        "after": "Tap the operator after which {} is to run.",
        "fuse": "Tap the operator with which {} is to be fused.",
        "split": "Tap the operator from which {} is to be split.",
    }
    return words[picking["kind"]].format(picking["operator"]) + " Escape gives up."
