"""View-models: what is to be planned, how it is viewed, what is displayed. No Panel here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import param

from app.model.option_keys import keyed, spec_of, unusual
from app.model.panels import PANELS
from app.model.presenter import LAYOUTS
from planners.core.element_types import NATIVE, Width
from planners.core.weights import LEFT_OUT, WEIGHTS, asked_weights

GRANULARITIES = ("fused", "folded", "aten")
COLOURS = ("kind", "time", "bytes", "MACs", "spill traffic", "difference")
WIDTHS: tuple[Width, ...] = (1, 2, 4, 8, NATIVE)
WIDTH_LABELS: dict[str, Width] = {
    str(width) if width != NATIVE else "as the file has it": width for width in WIDTHS
}
UNITS = ("KiB", "hex")
METRICS = ("memory", "peak", "latency", "traffic", "energy")
AXES = ("", "steps", "time")
ALIGNED = ("operator", "time", "steps")
WEIGHED = ("delay", "memory")
TENSOR, OPERATOR, GROUP, RUN = "tensor:", "operator:", "group:", "run:"


class ProblemFields(param.Parameterized):
    """What a person wants planned; a change requires a new plan."""

    model = param.String("vit_b_16", doc="A name of the catalogue, timm:NAME, or an upload's.")
    upload = param.String("", doc="Of an uploaded model: the name under which its file is kept.")
    input_shape = param.String("", doc="Such as 1x3x224x224, or 8 for a batch; empty: its own.")
    granularity: param.Selector[str] = param.Selector(
        default="fused",
        objects=list(GRANULARITIES),
        doc="How much one operator holds: fused activations, folded batch norms, or aten calls.",
    )
    bytes_per_element: param.Selector[Width] = param.Selector(
        default=1, objects=list(WIDTHS), doc="Bytes of each element, or native: as its type has."
    )
    weights: param.Selector[str] = param.Selector(
        default=LEFT_OUT, objects=list(WEIGHTS), doc="What weights do, for any planner."
    )
    machine = param.String("npu_small", doc="A preset of the machine to plan for.")
    machine_fields = param.String(
        "", doc="Numbers changed of the preset, such as host.read_bytes_per_s=4e9; with commas."
    )
    budget = param.String("MR", doc="MR, MH, MP, or a size such as 262144 or 256 KiB.")
    planner = param.String("cosma", doc="A name of a planner.")
    options = param.Dict(
        default={},
        doc="Options that are not the usual, by 'planner.option': each planner keeps its own.",
    )
    wishes = param.List(
        default=[],
        item_type=str,
        doc="What is wished: 'keep T', 'spill T', 'A before B', 'fuse A B' or 'split A B' each.",
    )
    time_limit = param.Integer(30, bounds=(1, 3600), doc="Seconds the solver may take.")

    @classmethod
    def with_values(cls, **values: Any) -> ProblemFields:
        """A problem by its fields and its planner's options, each by its name."""
        return cls(**cls().fields_of(values))

    def take(self, **values: Any) -> None:
        """Set these fields and options of the planner. Raises as `fields_of`."""
        self.param.update(**self.fields_of(values))

    def option(self, name: str) -> Any:
        """An option of the planner as it is set, whether it applies or not."""
        key = f"{self.planner}.{name}"
        return self.options.get(key, spec_of(key).default)

    def fields_of(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The fields that change if `values` sets fields and options of the planner.

        `parameters=True` is short for `weights="counted"`. Raises `BadInput` for an option that the
        planner does not have, or a value it cannot have.
        """
        if "parameters" in values:
            rest = {name: value for name, value in values.items() if name != "parameters"}
            values = {**rest, "weights": asked_weights(values)}
        fields = {name: value for name, value in values.items() if name in FIELDS}
        chosen = {name: value for name, value in values.items() if name not in FIELDS}
        planner = fields.get("planner", self.planner)
        if chosen:
            options = fields.get("options", self.options)
            fields["options"] = unusual({**options, **keyed(planner, chosen)})
        return fields

    def values_by_name(self) -> dict[str, Any]:
        """All fields except `name`, which param adds."""
        return {k: v for k, v in self.param.values().items() if k != "name"}


FIELDS = tuple(name for name in ProblemFields.param if name != "name")


def problem_with(fields: Mapping[str, Any]) -> ProblemFields:
    """The default problem, except for some fields."""
    return ProblemFields(**fields)  # type: ignore[no-untyped-call]


class Look(param.Parameterized):
    """How the plan is viewed: one cursor and one selection for all views."""

    step = param.Integer(0, bounds=(0, None), doc="The timestep under the cursor.")
    selection = param.String(
        "", doc="'tensor:', 'operator:', 'group:' with a NAME, 'run:A+B', 'steps:3-9', or ''."
    )
    expanded = param.List(default=[], item_type=str, doc="Blocks of the model that are opened.")
    colour: param.Selector[str] = param.Selector(
        default="kind", objects=list(COLOURS), doc="What colours say in the graph."
    )
    unit: param.Selector[str] = param.Selector(
        default="KiB", objects=list(UNITS), doc="How addresses are written."
    )
    axis: param.Selector[str] = param.Selector(
        default="",
        objects=list(AXES),
        doc="What is across the address map; empty: steps, or time where these mislead.",
    )
    serial = param.Boolean(False, doc="Show the timeline with nothing overlapped.")
    metric: param.Selector[str] = param.Selector(
        default="latency", objects=list(METRICS), doc="What is up and down in the Pareto chart."
    )
    across: param.Selector[str] = param.Selector(
        default="memory", objects=list(METRICS), doc="What is left and right in it."
    )
    swept = param.List(
        default=[
            "as chosen",
            "cosma, least latency",
            "fusion, least latency",
            "overlap, least latency",
            "streaming",
            "joined",
        ],
        item_type=str,
        doc="The planners that a sweep compares, by names of `app.session.sweep_lines.SWEPT`.",
    )
    more_bytes = param.Integer(
        65536, bounds=(1, 2**40), doc="How much more memory the table of gains is about."
    )
    aligned: param.Selector[str] = param.Selector(
        default="operator",
        objects=list(ALIGNED),
        doc="Which steps of two compared plans lie above each other.",
    )
    split = param.Boolean(False, doc="Whether the compared plan has views of its own.")
    comparing = param.Boolean(False, doc="Whether all of the comparison is opened.")
    taps_pin = param.Boolean(False, doc="Whether a tap on a point pins its plan to compare with.")
    wide = param.Boolean(False, doc="Whether the chart of all planners is opened over the views.")
    memory = param.String("", doc="Which memory the address map shows; empty: all on chip.")
    weighed: param.Selector[str] = param.Selector(
        default="delay", objects=list(WEIGHED), doc="What resolutions are weighed against."
    )
    panel: param.Selector[str] = param.Selector(
        default="details", objects=list(PANELS), doc="What the lower right corner shows."
    )
    judged = param.Boolean(False, doc="Whether what a file's own tool planned is on screen.")
    by_hand = param.Boolean(False, doc="Whether rectangles of the address map can be moved.")
    presenting: param.Selector[str] = param.Selector(
        default="",
        objects=["", *LAYOUTS],
        doc="The layout on screen for a hall; empty: the whole page.",
    )
    playing = param.Boolean(False, doc="Whether the cursor moves on by itself.")


class Work(param.Parameterized):
    """What is displayed and what is being worked on; the session writes it, views read it."""

    shown = param.Parameter(
        None, doc="The checked plan on screen (`app.display.displayed_plan.DisplayedPlan`)."
    )
    recalled = param.Dict(default={}, doc="Of a plan kept from before: took_s and at; else empty.")
    written = param.Boolean(True, doc="Whether the text of the plan on screen is there to save.")
    shown_for = param.Dict(default={}, doc="The fields of the problem that it answers.")
    shelf = param.List(
        default=[], doc="Plans that are kept (`app.session.pinning.PinnedPlan`), six at most."
    )
    pinning = param.Boolean(False, doc="Whether a plan to compare with is being read or made.")
    pinned = param.Parameter(None, doc="A plan that was on screen, kept to compare with.")
    pinned_for = param.Dict(default={}, doc="The fields of the problem that it answers.")
    budgets = param.Dict(default={}, doc="MR, MH, MP and more of the graph on screen.")
    why = param.Dict(default={}, doc="By fused group on screen: what else it would cost, and why.")
    reach = param.Dict(default={}, doc="Least and largest budget that a slider can ask of.")
    preview = param.Dict(default={}, doc="The groups at the budget under the slider, or empty.")
    asking = param.Boolean(False, doc="Whether a worker is asked about fused groups.")
    infeasible = param.Dict(default={}, doc="Why the last problem has no plan; empty otherwise.")
    elsewhere = param.List(
        default=[], doc="Planners that fit where the chosen one does not: planner, need_bytes."
    )
    refused = param.List(
        default=[], doc="Of the link that was followed: a line for each part that cannot be used."
    )
    notice = param.String("", doc="One line on what went wrong last; empty otherwise.")
    exporting = param.String("", doc="What is being done for a file to save; empty: nothing.")
    exported = param.Dict(default={}, doc="The last file: its name and its bytes, gzip, base 64.")
    picking = param.Dict(default={}, doc="A wish that waits for its second operator, or empty.")
    wished = param.Dict(default={}, doc="What the wishes cost: numbers without them, or empty.")
    pricing = param.Boolean(False, doc="Whether the plan without wishes is being made.")
    attempt = param.Dict(default={}, doc="A move by hand that `check` refused, and why.")
    judging = param.Boolean(False, doc="Whether a worker checks a move by hand.")
    audit = param.Dict(
        default={}, doc="The verdict on the last plan of another tool, its file and graph's digest."
    )
    auditing = param.Boolean(False, doc="Whether its better plan or file is being made.")
    applied = param.String("", doc="What the better file that was saved last is like.")
    blamed = param.Dict(default={}, doc="What the peak on screen is made of; empty until asked.")
    blaming = param.Boolean(False, doc="Whether what would lower that peak is being planned.")
    coding = param.Boolean(False, doc="Whether C code of the plan on screen is being written.")
    code = param.Dict(default={}, doc="The last C code: name of a zip and its bytes in base 64.")
    fronts = param.Dict(default={}, doc="Delay against memory of all pipelines of the problem.")
    under = param.Integer(0, doc="The budget under the slider while it moves; 0: it stands.")
    resolutions = param.List(default=[], doc="Delay and memory by resolution and pipeline.")
    resolving = param.Boolean(False, doc="Whether resolutions are being swept.")
    resolved = param.String("", doc="What the sweep of resolutions is doing.")
    streaming = param.Boolean(False, doc="Whether a worker is asked about streamed parameters.")
    planning = param.Boolean(False, doc="Whether a plan is being made.")
    touring = param.Boolean(False, doc="Whether a plan is being made for the guided tour.")
    progress = param.Dict(default={}, doc="Stage, elapsed seconds, incumbent, bound.")
    history = param.List(default=[], doc="The solver's moments: at_s, stage, best, bound.")
    history_for = param.Dict(default={}, doc="The fields of the problem that they are about.")
    points = param.List(default=[], doc="Points of the sweep, in the order they came.")
    sweeping = param.Boolean(False, doc="Whether a sweep runs.")
    sweep = param.Dict(
        default={},
        doc="Of the last sweep: names, budget, more, needs and notes by name, done, total, left_s.",
    )
    sweep_progress = param.String("", doc="What the sweep is doing.")


def tensor_selection(name: str) -> str:
    """The selection of a tensor."""
    return TENSOR + name


def operator_selection(name: str) -> str:
    """The selection of an operator."""
    return OPERATOR + name


def group_selection(name: str) -> str:
    """The selection of a fused group."""
    return GROUP + name


def run_selection(operators: Sequence[str]) -> str:
    """The selection of operators that run together in a circular pool."""
    return RUN + "+".join(operators)


def selected_group(shown: Any, selection: str) -> Any:
    """The fused group of a plan that is selected, or None."""
    return shown.group_named(selection.removeprefix(GROUP)) if selection.startswith(GROUP) else None


def selected_tensors(graph: Any, selection: str) -> tuple[str, ...]:
    """The tensor that is selected, or what the selected operator reads and writes."""
    if selection.startswith(TENSOR):
        name = selection.removeprefix(TENSOR)
        return (name,) if name in graph.tensors else ()
    names = selected_operators(graph, selection)
    used = [graph.operators[graph.index[name]] for name in names]
    return tuple(dict.fromkeys(t for op in used for t in (*op.inputs, *op.outputs)))


def selected_operators(graph: Any, selection: str) -> tuple[str, ...]:
    """The operator that is selected, or those that write and read the selected tensor."""
    if selection.startswith(TENSOR):
        name = selection.removeprefix(TENSOR)
        if name not in graph.tensors:
            return ()
        writer = [graph.producer[name]] if name in graph.producer else []
        return tuple(graph.operators[i].name for i in [*writer, *graph.consumers[name]])
    if selection.startswith(RUN):
        names = selection.removeprefix(RUN).split("+")
        return tuple(name for name in names if name in graph.index)
    operator = _operator(graph, selection)
    return (operator.name,) if operator else ()


def selected_writer(graph: Any, selection: str) -> str:
    """The operator that is selected, or the one that writes the selected tensor; or nothing."""
    if selection.startswith(TENSOR):
        writer = graph.producer.get(selection.removeprefix(TENSOR))
        return "" if writer is None else str(graph.operators[writer].name)
    operator = _operator(graph, selection)
    return operator.name if operator else ""


def _operator(graph: Any, selection: str) -> Any:
    name = selection.removeprefix(OPERATOR)
    return graph.operators[graph.index[name]] if name in graph.index else None


def moved(step: int, by: int, steps: int) -> int:
    """The cursor moved and kept within the program."""
    return max(0, min(steps - 1, step + by))
