"""The options of a problem's planner: which of them apply, and what they are called in a word.

What a planner has, and what goes together and why, is in its type of options. No Panel here.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import planners as sp
from app.model.option_keys import keyed, own_of, spec_of, type_of, unusual
from app.model.state import ProblemFields, problem_with
from app.model.wishes import asked
from planners.core.options import Options
from planners.core.registry import AUTO as AUTO
from planners.core.registry import COSMA
from planners.core.registry import FUSION as FUSION
from planners.core.registry import OVERLAP as OVERLAP
from planners.core.registry import STREAMING as STREAMING
from planners.core.weights import LEFT_OUT, WORDS, asked_weights, instead_of, weights_of

WISHES = "wishes"
BREAKS, SOLVER, OBJECTIVE = (f"{COSMA}.{name}" for name in ("break_nodes", "solver", "objective"))
ORDER = "schedule"
"""Options that the page says more about than their types do."""
CBC, AUTOMATIC = "CBC", "auto"


@cache
def solver_names() -> tuple[str, ...]:
    """Solvers available here for the ILP, by the names that the planner takes."""
    from planners.cosma.ilp.solve import solvers

    return tuple(CBC if name == "COIN_CMD" else name for name in solvers())


def weights_done(fields: Mapping[str, Any]) -> str:
    """What weights do in plans of the problem of these fields: not every planner can do as asked.

    `planners.core.weights.WEIGHTS`.
    """
    info = sp.planners().get(fields["planner"])
    weights: str = fields["weights"]
    return instead_of(weights, info.honours) if info else weights


def weights_in(plan: sp.Plan) -> str:
    """What weights were to do in a plan; of older files, what they do."""
    if "weights" in plan.options:
        return asked_weights({"weights": plan.options["weights"]})
    return weights_of(plan.graph, plan.program) or LEFT_OUT


def apart(fields: Mapping[str, Any]) -> str:
    """Why plans of a problem are not compared with others of it; empty where they are."""
    info = sp.planners().get(fields["planner"])
    return info.cannot(fields["weights"]) if info else ""


def chosen(problem: ProblemFields) -> Options:
    """The planner's options; at their defaults where the others leave no choice."""
    kind = type_of(problem.planner)
    values = own_of(problem.planner, problem.options)
    if WISHES in kind.specs():
        values[WISHES] = tuple(asked(problem))
    return kind(**values).settled()


def options(problem: ProblemFields) -> dict[str, Any]:
    """What the planner is sent: its options, without those that the others rule out."""
    taken = chosen(problem)
    values, ruled_out = taken.values(), taken.ruled_out()
    sent = {name: values[name] for name in taken.own() if name not in ruled_out}
    return sent | ({WISHES: values[WISHES]} if values.get(WISHES) else {})


def why_not(problem: ProblemFields) -> dict[str, str]:
    """Options of the planner that the others fix, each with the reason."""
    taken = chosen(problem)
    return {name: why for name, why in taken.ruled_out().items() if name in taken.own()}


def that_count(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a problem without its options, and the planner's options that apply, by key."""
    problem = problem_with(fields)
    taken = {name: value for name, value in options(problem).items() if name != WISHES}
    rest = {name: value for name, value in fields.items() if name != "options"}
    return rest | unusual(keyed(problem.planner, taken))


def fields_sent(planner: str, sent: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a problem that were sent to a planner."""
    own_options = {name: value for name, value in sent.items() if name != WISHES}
    return {"options": unusual(keyed(planner, own_options)), WISHES: list(sent.get(WISHES, ()))}


def usual(name: str) -> Any:
    """The default of a field, or of an option by its key."""
    return spec_of(name).default if "." in name else ProblemFields.param[name].default


def without_breaks(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options that may go with another graph: break nodes set by hand name operators of one
    graph."""
    return {key: value for key, value in options.items() if key != BREAKS}


def break_nodes(problem: ProblemFields) -> tuple[str, ...] | None:
    """Break nodes chosen by hand, where the planner takes any; None where they are automatic."""
    by_hand = problem.options.get(BREAKS)
    return None if by_hand is None else tuple(by_hand)


def cuts(problem: ProblemFields) -> bool:
    """Whether the network is to be cut at break nodes."""
    return BREAKS.partition(".")[2] in options(problem)


def no_breaks(problem: ProblemFields) -> bool:
    """Whether break nodes are chosen by hand and there are none yet."""
    return cuts(problem) and break_nodes(problem) == ()


def series(problem: Mapping[str, Any]) -> str:
    """The name of a line in a chart: the planner, the order, options that are not the default, and
    what weights do where that is not what the problem says."""
    planner, sent = problem["planner"], dict(problem["options"])
    specs = type_of(planner).own()
    words = [str(sent.pop(ORDER))] if ORDER in sent else []
    for name, value in sent.items():
        if name not in specs or specs[name].checked(value) != specs[name].default:
            words.append(word(f"{planner}.{name}", value))
    if "weights" in problem and apart(problem):
        words.append(f"(weights {WORDS[weights_done(problem)]})")
    return " ".join([str(planner), *words])


def word(name: str, value: Any) -> str:
    """A value of a field, or of an option by its key, in a word or two; of long lists the ends."""
    planner, _, name = name.rpartition(".")
    spec = type_of(planner).own().get(name)
    if isinstance(value, bool):
        if value:
            return name
        return (spec and spec.short) or f"no {name}"
    if name == WISHES:
        return "; ".join(value) if 0 < len(value) < 3 else f"{len(value) or 'no'} wishes"
    if isinstance(value, list | tuple):
        return "+".join(value) if len(value) < 3 else f"{value[0]}+…+{value[-1]} ({len(value)})"
    if spec is None or (isinstance(value, str) and value):
        return "automatic" if value in (None, AUTOMATIC) else str(value)
    if "{}" in spec.short:
        return spec.short.format(value)
    return f"{name} {value}" if value != "" else f"no {name}"
