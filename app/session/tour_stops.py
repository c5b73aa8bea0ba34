"""The stops of the tour: what each outlines, and what it says, read off the plan on screen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from app.captions.spill_reasons import cause_text
from app.display.banks import several
from app.display.displayed_plan import DisplayedPlan
from app.kinds.registry import GROUPS, POOL, STREAM, step_story
from app.model.state import group_selection, operator_selection, run_selection, tensor_selection
from app.model.units import seconds_text
from app.session.models import Models
from planners.core.units import format_bytes
from planners.core.weights import COUNTED

NETWORK: Mapping[str, Any] = {
    "model": "mcunet_in2",
    "input_shape": "1x3x64x64",
    "machine": "npu_small",
    "budget": "MR",
}
PLANS: Mapping[str, Mapping[str, Any]] = {
    "spills": {},
    "waits": {"weights": COUNTED},
    "fused": {"planner": GROUPS.planner, "budget": "48 KiB"},
    "pool": {"planner": POOL.planner},
    "streamed": {"planner": STREAM.planner, "budget": "256 KiB", "machine": "stm32f746"},
    "roomy": {"budget": "MP"},
}
Found = Mapping[str, DisplayedPlan]


@dataclass(frozen=True, slots=True)
class Stop:
    """A stop: the plan it needs, classes of what it outlines, its action and its text.

    The text of a `live` one is written again when points of a sweep come.
    """

    title: str
    plan: str
    targets: tuple[str, ...]
    prepare: Callable[[Models, Found], None]
    tell: Callable[[Models], str]
    live: bool = False


def _shown(models: Models) -> DisplayedPlan:
    shown: DisplayedPlan = models.work.shown
    return shown


def _size(models: Models) -> str:
    return format_bytes(_shown(models).plan.budget_bytes)


def _plural(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count:,} {thing}s"


def _at_start(models: Models, _found: Found) -> None:
    models.look.step = 0


def _network(models: Models) -> str:
    shown = _shown(models)
    graph = shown.graph
    total = sum(graph.size_bytes(t) for op in graph.operators for t in op.outputs)
    return (
        f"{graph.name} is a small network of {_plural(len(graph.operators), 'operator')} in this"
        " order, from left to right. A hatched box is a block: tap it to open it. The dashed ring"
        f" is the step that we look at, {shown.plan.program.steps[models.look.step]} now. All"
        f" outputs of the operators together have {format_bytes(total)}; the memory has"
        f" {_size(models)}."
    )


def _largest(shown: DisplayedPlan) -> Any:
    return max(shown.live(shown.report.peak_step), key=lambda r: r.size_bytes)


def _to_largest(models: Models, _found: Found) -> None:
    shown = _shown(models)
    residency = _largest(shown)
    models.look.param.update(
        selection=tensor_selection(residency.tensor), step=shown.report.peak_step
    )


def _map(models: Models) -> str:
    shown = _shown(models)
    residency = _largest(shown)
    left, right = shown.columns(residency)
    return (
        "This is the memory over time: steps from left to right, addresses from bottom to top. A"
        " rectangle is a tensor that is on chip. The one outlined is"
        f" {residency.tensor}: {format_bytes(residency.size_bytes)} at address"
        f" {residency.spans[0].start:,}, from"
        f" step {left + 1} to step {right}. No two rectangles overlap: no byte is used twice."
    )


def _budget(models: Models) -> str:
    shown, budgets = _shown(models), models.work.budgets
    spilled = shown.report.noncompulsory_bytes
    text = (
        f"Below MR, {format_bytes(budgets['MR'])}, no plan exists: one operator alone needs that."
        f" From MP, {format_bytes(budgets['MP'])}, on there is an order in which nothing is"
        " spilled. "
        if budgets
        else ""
    )
    best = shown.plan.claims.status == "optimal"
    known_words = "proven that less is impossible" if best else "found nothing better"
    return (
        f"How much memory is there? {text}With {_size(models)}, {format_bytes(spilled)} are"
        " spilled or fetched again because there is too little room. The solver has"
        f" {known_words} in this order of operators."
    )


def _spill(shown: DisplayedPlan) -> tuple[str, int] | None:
    """The first tensor that is spilled, and the step in which it leaves."""
    left = [r for r in shown.report.residencies if r.ending == "spill"]
    first = min(left, key=lambda r: r.stop_step, default=None)
    return (first.tensor, first.stop_step - 1) if first else None


def _to_spill(models: Models, _found: Found) -> None:
    if (spill := _spill(_shown(models))) is not None:
        models.look.param.update(selection=tensor_selection(spill[0]), step=spill[1])


def _spilled(models: Models) -> str:
    shown = _shown(models)
    spill = _spill(shown)
    if spill is None:
        return "Nothing is spilled in this plan."
    tensor, step = spill
    words = [_about(shown, tensor, at, mark) for at, mark in ((step, "out"), (None, "in"))]
    return "A spill (▲) and its retrieval (▼). " + " ".join(filter(None, words))


def _about(shown: DisplayedPlan, tensor: str, step: int | None, mark: str) -> str:
    """The sentence on a tensor's move, with its step; the first return where none is given."""
    steps = range(shown.steps) if step is None else [step]
    for at in steps:
        for sentence in step_story(shown, at):
            back = mark == "out" or "came back" in sentence.text
            if sentence.tensor == tensor and sentence.mark == mark and back:
                return f"Step {at + 1}: {sentence.text}"
    return ""


def _to_peak(models: Models, _found: Found) -> None:
    models.look.step = _shown(models).report.peak_step


def _peak(models: Models) -> str:
    shown = _shown(models)
    report, budget = shown.report, shown.plan.budget_bytes
    share = "" if several(shown) else f", {report.peak_bytes / budget:.0%} of the budget"
    step = report.peak_step
    live = shown.live(step)
    return (
        f"How full the memory is at each step. The peak is step {step + 1},"
        f" {shown.plan.program.steps[step]}:"
        f" {format_bytes(report.peak_bytes)}{share}, in"
        f" {_plural(len(live), 'tensor')}. The table at the right lists them."
    )


def _stall(shown: DisplayedPlan) -> Any:
    """The longest wait of the compute engine; None where it never waits."""
    waits = [i for i in shown.trace.intervals if i.engine == "compute" and i.stall_s > 0]
    return max(waits, key=lambda item: item.stall_s, default=None)


def _to_stall(models: Models, _found: Found) -> None:
    if (item := _stall(_shown(models))) is not None:
        models.look.param.update(step=item.step, selection=operator_selection(item.label))


def _time(models: Models) -> str:
    shown = _shown(models)
    item = _stall(shown)
    waited = sum(i.stall_s for i in shown.trace.intervals if i.engine == "compute")
    lasts = seconds_text(shown.trace.makespan_s)
    text = f"When each engine works, here with weights that are loaded too: {lasts} in all."
    if item is None:
        return f"{text} Compute never waits."
    return (
        f"{text} Hatched: compute is stalled, {seconds_text(waited)} in all. Its longest"
        f" wait is before {item.label}: it {cause_text(shown.names, item).split(' (')[0]}."
    )


def _to_group(models: Models, _found: Found) -> None:
    shown = _shown(models)
    if shown.groups:
        group = max(shown.groups, key=lambda g: g.tiles)
        models.look.param.update(selection=group_selection(group.name), step=group.start_step)


def _groups(models: Models) -> str:
    shown = _shown(models)
    if not shown.groups:
        return "This plan has no fused groups."
    group = max(shown.groups, key=lambda g: g.tiles)
    return (
        f"Another planner, with {_size(models)}. It runs operators in"
        f" {_plural(len(shown.groups), 'group')}, a colour each: {group.name} runs"
        f" {_plural(len(group.operators), 'operator')} together in {_plural(group.tiles, 'tile')},"
        " so that what is between them never leaves the chip."
        f" Parameters count here, and yet {format_bytes(shown.report.peak_bytes)} do."
    )


def _to_run(models: Models, _found: Found) -> None:
    shown = _shown(models)
    if shown.pool is not None and (run := _tightest(shown)) is not None:
        middle = (run.start_step + run.stop_step) // 2
        models.look.param.update(selection=run_selection(run.run.operators), step=middle)


def _tightest(shown: DisplayedPlan) -> Any:
    """The run with the longest head start of an output over a part of its input."""
    pool = shown.pool
    if pool is None:
        return None
    runs = [
        run
        for run in pool.runs
        if run.stop_step - run.start_step > 2
        and 0 < (run.distance_bytes or 0) < pool.sizes[run.writes[0]]
    ]
    return max(runs, key=lambda run: run.distance_bytes or 0, default=None)


def _pool(models: Models) -> str:
    shown = _shown(models)
    if shown.pool is None:
        return "This plan has no circular pool."
    text = (
        "Memory as a ring: an output may lie over an input whose rows were read for the last time."
        " All of"
        f" the network runs in {format_bytes(shown.pool.size_bytes)}; whole tensors needed"
        f" {_size(models)}."
    )
    if (run := _tightest(shown)) is None:
        return text
    return (
        f"{text} Here {run.name} writes over {run.over}; its output begins"
        f" {run.distance_bytes or 0:,} bytes in front of it."
    )


def _to_ring(models: Models, _found: Found) -> None:
    """The layer that waits longest for room in a full ring, or else the first layer."""
    shown = _shown(models)
    full = [s for s in shown.stages if s.wait and s.wait.cause == "ring full"]
    stage = max(full, key=lambda s: s.wait.seconds if s.wait else 0.0, default=None)
    regions = shown.stream.regions if shown.stream else ()
    ring = next((region.key for region in regions if "ring" in region.name), "")
    models.look.param.update(step=stage.layer if stage else 0, memory=ring)


def _ring(models: Models) -> str:
    shown = _shown(models)
    if (stream := shown.stream) is None:
        return "This plan streams nothing."
    read = sum(layer.size_bytes for layer in stream.layers)
    text = (
        f"On {shown.plan.machine.title} the parameters, {format_bytes(read)}, roll through a ring"
        f" of {format_bytes(stream.ring_bytes)}, read ahead of the layers that need them. All of it"
        f" takes {seconds_text(stream.details.delay_s)}; the kernels alone take"
        f" {seconds_text(stream.details.kernel_s)}."
    )
    full = [s for s in shown.stages if s.wait and s.wait.cause == "ring full"]
    if not full:
        return f"{text} The ring is never full."
    worst = max(full, key=lambda s: s.wait.seconds if s.wait else 0.0)
    wait_text = worst.wait.text if worst.wait else ""
    return f"{text} The {worst.kind} of {stream.layers[worst.layer].name} {wait_text}."


def _to_front(models: Models, _found: Found) -> None:
    models.look.param.update(metric="traffic", across="memory")


def points_here(models: Models) -> bool:
    """Whether the sweep of the tour's network has points, or cannot have any now."""
    work = models.work
    mine = any(point["problem"]["model"] == NETWORK["model"] for point in work.points)
    return mine or not work.budgets or work.sweeping


def _front(models: Models) -> str:
    points = models.work.points
    text = "What does more memory buy? A sweep plans under many budgets; each point is a plan."
    if not points:
        return f"{text} The first are on their way."
    traffic = [p["traffic_bytes"] for p in points if p.get("traffic_bytes") is not None]
    if not traffic:
        return text
    more = " so far" if models.work.sweeping else ""
    return (
        f"{text} {len(points)}{more}, from {format_bytes(max(traffic))} down to"
        f" {format_bytes(min(traffic))} of traffic. Tap one to see its plan."
    )


def _to_compare(models: Models, found: Found) -> None:
    models.look.panel = "compare"
    if (other := found.get("spills")) is not None:
        pinned_for = {**models.work.shown_for, **NETWORK}
        models.work.param.update(pinned=other, pinned_for=pinned_for)


def _compare(models: Models) -> str:
    work = models.work
    text = f"Two plans on the same axes: this one has {_size(models)}"
    if work.pinned is None:
        return f"{text}. Pin a plan with s, then change something."
    mine, other = (s.report.noncompulsory_bytes for s in (work.shown, work.pinned))
    return (
        f"{text}, the pinned one {format_bytes(work.pinned.plan.budget_bytes)}. Spill traffic:"
        f" {format_bytes(mine)} here, {format_bytes(other)} there. Tensors that moved,"
        " left or stayed are outlined in the map. Keys: s pins, c swaps."
    )


def _stay(_models: Models, _found: Found) -> None:
    """Do nothing."""


def _share(models: Models) -> str:
    steps = _plural(_shown(models).steps, "step")
    return (
        "Take it with you: Copy link takes the problem and the view, Export saves"
        " pictures and files, Copy as Python plans the same in a notebook. For a lecture, the key p"
        f" fills the screen with a view, and space plays the {steps}. The page now returns"
        " to what you had before."
    )


STOPS: tuple[Stop, ...] = (
    Stop("The network", "spills", ("graph-box",), _at_start, _network),
    Stop("The address map", "spills", ("address-map",), _to_largest, _map),
    Stop("The budget", "spills", ("budget-typed",), _at_start, _budget),
    Stop("A spill and its retrieval", "spills", ("address-map",), _to_spill, _spilled),
    Stop("Occupancy and its peak", "spills", ("occupancy",), _to_peak, _peak),
    Stop("The timeline and a stall", "waits", ("lanes",), _to_stall, _time),
    Stop("Fused groups", "fused", ("graph-box",), _to_group, _groups),
    Stop("The circular pool", "pool", ("pool",), _to_run, _pool),
    Stop("Parameters through a ring", "streamed", ("address-map",), _to_ring, _ring),
    Stop("The Pareto front", "spills", ("pareto-box",), _to_front, _front, live=True),
    Stop("Two plans compared", "roomy", ("corner-box",), _to_compare, _compare),
    Stop("Share it", "roomy", ("export", "copy-link", "python"), _stay, _share),
)
