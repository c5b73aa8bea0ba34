"""Which wishes a selection in the plan on screen allows, as buttons. No Panel here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.display.displayed_plan import DisplayedPlan
from app.model.state import TENSOR, selected_operators
from app.model.wishes import KNOWN, kind_of, names_of
from planners.core.weights import COUNTED, weights_of

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
    supported, buttons = KNOWN.get(planner, ()), list[WishOffer]()
    tensor, operator = wished_tensor(shown, selection), wished_operator(shown, selection)
    if tensor and "keep" in supported and not why_no_choice(shown, tensor, planner):
        buttons += _of_tensor(tensor, wishes, "its output " if operator else "")
    if operator and "before" in supported:
        about = "then tap the other operator; Escape cancels"
        buttons.append(WishOffer("Run before…", f"{PICK}before {operator}", about))
        buttons.append(WishOffer("Run after…", f"{PICK}after {operator}", about))
    if operator and "fuse" in supported:
        buttons += _of_groups(shown, operator, wishes)
    return buttons


def why_no_choice(shown: DisplayedPlan, tensor: str, planner: str) -> str:
    """Why a planner has no choice about a tensor: parameters may not be counted, and with groups
    only tensors that operators write are planned. Empty where it has a choice."""
    kind = shown.graph.tensors[tensor].kind
    if planner in ("fusion", "joined") and kind != "activation":
        return f"{planner} decides only about tensors that operators write, and {tensor} is loaded"
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
        present = next((w for w in wishes if set(names_of(w)) == {operator, name}), "")
        text = present if kind_of(present) in ("fuse", "split") else f"{kind} {operator} {name}"
        if present:
            label = f"{'Fuse with' if kind_of(present) == 'fuse' else 'Split from'} {name}"
        buttons.append(_toggle(label, text, "the operator that reads what it writes", wishes))
    about = "then tap the other operator; Escape cancels"
    buttons.append(WishOffer("Fuse with…", f"{PICK}fuse {operator}", about))
    return [*buttons, WishOffer("Split from…", f"{PICK}split {operator}", about)]


def _toggle(label: str, text: str, about: str, wishes: Sequence[str]) -> WishOffer:
    on = text in wishes
    return WishOffer(
        label, (DROP if on else WISH) + text, "tap to withdraw this wish" if on else about, on
    )
