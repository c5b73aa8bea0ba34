"""Which planners are asked, with which options, in which order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from planners.core.errors import BadInput
from planners.core.registry import COSMA, FUSION, JOINED, OVERLAP, STREAMING, planners
from planners.core.registry import planner as find_planner

AUTO = "auto"
Proves: TypeAlias = Literal["traffic", "memory", ""]


@dataclass(frozen=True, slots=True)
class Form:
    """A planner with options, one of the ways to plan that are compared.

    `proves` is what the bound in its plans' claims bounds, for whatever time the form has; empty
    where that is known for the plan at hand only. A `staged` form goes on after its claims are
    proven. `quick` ones take no worker's time: they run while workers start. `least`: in the least
    budget that the planner names, within the one given; `small` ones are asked so too, where memory
    is what matters. `leads`: it most often has the best plan, and has more time at first.
    `steady`: with less than it needs for a first plan it has none, and it says early where it will
    have none.
    """

    planner: str
    options: Mapping[str, Any] = field(default_factory=dict)
    proves: Proves = ""
    staged: bool = False
    quick: bool = False
    least: bool = False
    small: bool = False
    leads: bool = False
    steady: bool = False

    @property
    def goes_on(self) -> bool:
        """Whether its planner knows what it did before, where it is asked again in one process."""
        return self.planner == FUSION or self.options.get("objective") == "latency"

    @property
    def label(self) -> str:
        """Its name and what is set: `cosma schedule=joint`."""
        return " ".join([self.planner, *(f"{k}={v}" for k, v in self.told_options.items())])

    @property
    def told_options(self) -> dict[str, Any]:
        """Its options but for what weights do, which is the problem's."""
        reported = {name: value for name, value in self.options.items() if name != "weights"}
        return reported | ({"budget": "least"} if self.least else {})


SERVES: Mapping[str, tuple[str, ...]] = {
    "latency": ("latency",),
    "energy": ("energy", "latency", "traffic_then_latency"),
    "memory": ("peak",),
    "traffic": (),
}
"""By what is asked: what planners call the objectives of theirs that serve it."""
FIRST = (
    Form(COSMA, proves="traffic", quick=True, small=True, leads=True),
    Form(STREAMING, {"joint": True}, quick=True, small=True),
)
WHOLE_ROWS = Form(OVERLAP, {"objective": "latency"}, staged=True, quick=True)
ORDERS = (
    Form(COSMA, {"schedule": "joint"}, proves="traffic", leads=True),
    Form(COSMA, {"schedule": "mpmf"}),
    Form(COSMA, {"schedule": "dnc"}, proves="traffic"),
)
GROUPS = (
    Form(FUSION, proves="traffic", small=True, leads=True),
    Form(FUSION, {"online": True}),
    Form(FUSION, {"joint": True}, proves="traffic", small=True, leads=True),
    Form(FUSION, {"baseline": "efficient_s"}),
)
STREAMS = (
    Form(STREAMING, quick=True),
    Form(STREAMING, {"joint": True, "slices": 0}, small=True),
    *(Form(STREAMING, {"pipeline": name}) for name in ("2s", "async", "pre")),
)
JOINS = ("latency", "traffic", "energy")
"""What joined plans can be asked to have the least of."""
POOLS = (
    Form(OVERLAP, {"objective": "ram"}, proves="memory"),
    Form(OVERLAP, {"objective": "macs"}),
)


def forms(objective: str, weights: str) -> list[Form]:
    """Ours, the quick ones first, and then third-party planners with their defaults.

    What weights do is the same in all.
    """
    aimed = [
        *_aimed(COSMA, objective, [{}, {"schedule": "joint"}]),
        *_aimed(FUSION, objective, [{}, {"joint": True}]),
    ]
    if objective in JOINS:
        aimed.insert(0, joined(objective))
    if objective == "memory":
        ours = [*FIRST, *POOLS, *aimed, WHOLE_ROWS, *ORDERS, *STREAMS, *GROUPS]
    elif objective == "latency":  # Those that are aimed begin with the plans of ORDERS and GROUPS.
        ours = [*aimed, WHOLE_ROWS, *FIRST[1:], *STREAMS, *POOLS]
    else:
        ours = [*FIRST, WHOLE_ROWS, *aimed, *ORDERS, *STREAMS, *GROUPS, *POOLS]
    named = {form.planner for form in ours} | {AUTO, JOINED}
    theirs = [Form(name, leads=True) for name in planners() if name not in named]
    every = [form for form in (*ours, *theirs) if _possible(form)]
    if objective == "memory":
        small = [form for form in every if form.small or form in theirs]
        every += [replace(form, proves="", least=True, quick=False) for form in small]
    return [replace(form, options={**form.options, "weights": weights}) for form in every]


def joined(objective: str) -> Form:
    """Joined plans alone, and not fused groups alone: the others have forms of their own."""
    options = {"objective": objective, "others": False, "fallback": False}
    return Form(JOINED, options, leads=True, steady=True)


def _aimed(planner: str, objective: str, variants: Iterable[Mapping[str, Any]]) -> Iterator[Form]:
    """The variants of a planner by each of its own objectives that serve the one that is asked."""
    options = find_planner(planner).options
    spec = options.specs().get("objective") if options else None
    for name in SERVES[objective]:
        if spec is None or name not in spec.choices:
            continue
        for variant in variants:
            proves: Proves = "memory" if objective == "memory" else ""
            if name == "traffic_then_latency":
                proves = "traffic"
            staged = objective != "memory"
            yield Form(
                planner,
                {"objective": name, **variant},
                proves,
                staged,
                leads=staged and not variant,
            )


def _possible(form: Form) -> bool:
    """Whether its options go together."""
    options = find_planner(form.planner).options
    if options is None:
        return True
    try:
        options.from_values(form.options)
    except BadInput:
        return False
    return True
