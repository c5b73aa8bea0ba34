"""Which options of the planners go together, and why others do not. No Panel here."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import planners as sp
from app.state import Problem
from app.wished import KNOWN, asked
from planners.fusion.options import DEFAULTS

DNC = "dnc"
WISHES = "wishes"
AUTO, FUSION, OVERLAP, STREAMING = "auto", "fusion", "overlap", "streaming"
COSMA_OPTIONS = (
    "schedule",
    "objective",
    "break_nodes",
    "method",
    "replacement",
    "solver",
    "paper_strict",
)
FUSION_OPTIONS = (
    "joint",
    "online",
    "baseline",
    "bands",
    "channel_tile",
    "double_buffer",
    "free_local_layers",
)
OVERLAP_OPTIONS = ("pool_objective", "fuse")
AUTO_OPTIONS = ("goal",)
STREAMING_OPTIONS = (
    "pipeline",
    "stages",
    "slices",
    "ring_bytes",
    "ring_step",
    "twice",
    "one_memory",
    "times",
    "spread",
    "draws",
)
OPTIONS = (
    *COSMA_OPTIONS,
    *FUSION_OPTIONS,
    *OVERLAP_OPTIONS,
    *AUTO_OPTIONS,
    *STREAMING_OPTIONS,
    WISHES,
)
CALLED = {
    AUTO: {"goal": "objective"},
    OVERLAP: {"pool_objective": "objective"},
    STREAMING: {"ring_bytes": "ring", "ring_step": "step", "one_memory": "joint"},
}
"""What a planner calls an option where a field of the problem has that name already."""
OWN_SEARCH = "{} is a search of its own"
CBC = "CBC"
USUAL: Mapping[str, Any] = {name: Problem.param[name].default for name in OPTIONS}


@cache
def solver_names() -> tuple[str, ...]:
    """Solvers that are here for the ILP, by the names that the planner takes."""
    from planners.cosma.ilp_solve import solvers

    return tuple(CBC if name == "COIN_CMD" else name for name in solvers())


def takes(planner: str) -> frozenset[str]:
    """The options that a planner has."""
    info = sp.planners().get(planner)
    if planner == AUTO:
        return frozenset(AUTO_OPTIONS)
    if planner == OVERLAP:
        return frozenset(OVERLAP_OPTIONS)
    if planner == STREAMING:
        return frozenset(STREAMING_OPTIONS)
    names = set(info.options) if info else set()
    if planner == FUSION:
        names |= DEFAULTS.keys() & set(FUSION_OPTIONS)
    if "method" in names:
        names |= {"solver", "paper_strict"}
    if info and DNC in info.options.get("schedule", ()):
        names.add("break_nodes")
    return frozenset(names | ({WISHES} if planner in KNOWN else set()))


def counts(fields: Mapping[str, Any]) -> bool:
    """Whether parameters count for the problem of these fields: some planners always count them."""
    info = sp.planners().get(fields["planner"])
    return bool(fields["parameters"] or (info and info.always_counts))


def always_counts(planner: str) -> bool:
    """Whether a planner counts parameters, asked to or not."""
    return counts({"planner": planner, "parameters": False})


def options(problem: Problem) -> dict[str, Any]:
    """The options that the chosen planner takes, without those that the others rule out."""
    names = takes(problem.planner) - why_not(problem).keys()
    called = CALLED.get(problem.planner, {})
    found = {called.get(n, n): getattr(problem, n) for n in OPTIONS if n in names}
    if found.get("break_nodes", ()) is None:
        found["break_nodes"] = "auto"
    if found.get(WISHES):
        found[WISHES] = asked(problem)
    if not found.get(WISHES):
        found.pop(WISHES, None)
    return found


def fields_of(planner: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the problem that a planner's options are."""
    field = {called: name for name, called in CALLED.get(planner, {}).items()}
    return {field.get(name, name): value for name, value in options.items()}


def why_not(problem: Problem) -> dict[str, str]:
    """Options that the others leave no choice in, each with the reason."""
    found: dict[str, str] = {}
    schedule = problem.schedule
    if schedule != DNC:
        found["break_nodes"] = "only divide and conquer cuts the network"
    else:
        if problem.objective == "peak":
            found["break_nodes"] = "for least memory the network is not cut"
        found["method"] = "divide and conquer has a search of its own"
    by_ilp = problem.method == "ilp" and "method" not in found
    if not by_ilp:
        found["solver"] = found["paper_strict"] = "only the ILP has it"
    if by_ilp:
        found["replacement"] = "the ILP chooses what leaves"
    elif schedule in ("joint", DNC):
        found["replacement"] = "it is chosen together with the order"
    elif problem.objective != "traffic":
        found["replacement"] = "the others are for traffic only"
    elif asked(problem):
        found["replacement"] = "wishes go with the optimal one"
    return found | _why_not_fused(problem) | _why_not_streamed(problem)


def _why_not_fused(problem: Problem) -> dict[str, str]:
    """The same for the options of fused groups."""
    if problem.planner == FUSION and asked(problem):
        rule = "wishes go with the search"
        return {"online": rule, "baseline": rule}
    if problem.baseline:
        rule = OWN_SEARCH.format("the baseline")
        return {"online": rule, "joint": rule}
    if problem.online:
        rule = OWN_SEARCH.format("the online variant")
        return {"baseline": rule, "joint": rule}
    return {}


def _why_not_streamed(problem: Problem) -> dict[str, str]:
    """The same for the options of streamed parameters."""
    pipeline, found = problem.pipeline, {}
    if pipeline != "exact":
        found["stages"] = "only the exact search has a choice of stages"
        found["one_memory"] = "only the exact search plans weights and activations together"
    elif problem.stages == 3 or problem.twice:
        found["one_memory"] = "one memory goes with two stages, without rings mapped twice"
    if pipeline not in ("async", "2s"):
        found["ring_bytes"] = "the pipeline finds its rings"
    if not pipeline.endswith("-md"):
        found["ring_step"] = "only the paper's search has a step"
    if pipeline in ("pre", "seq", "sync"):
        found["twice"] = "the pipeline has no rings"
    return found


def that_count(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a problem, with the usual value for options that the others rule out."""
    return {**fields, **{name: USUAL[name] for name in why_not(Problem(**fields))}}


def cuts(problem: Problem) -> bool:
    """Whether the network is to be cut at break nodes."""
    return "break_nodes" not in why_not(problem)


def series(asked: Mapping[str, Any]) -> str:
    """What a line of a chart is called: the planner, the order, and what else is not the usual."""
    words = [str(asked["planner"])]
    for name, value in fields_of(asked["planner"], asked["options"]).items():
        if name == "schedule" or value not in (USUAL[name], "auto"):
            words.append(word(name, value))
    return " ".join(words)


def word(name: str, value: Any) -> str:
    """A value in a word or two; of many names the first and the last."""
    if isinstance(value, bool):
        return name if value else f"no {name}"
    if name == WISHES:
        return "; ".join(value) if 0 < len(value) < 3 else f"{len(value) or 'no'} wishes"
    if value is None:
        return "automatic"
    if not isinstance(value, list):
        return str(value)
    return "+".join(value) if len(value) < 3 else f"{value[0]}+…+{value[-1]} ({len(value)})"
