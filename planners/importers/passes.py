"""From a traced model's calls to operators: views as aliases, batch norm and activations folded.

A *call* is one ATen call of the trace. A call is *constant* where no graph input reaches it; it
then has no operator of its own and is run again by each operator that needs it. Below granularity
`aten` a *view* is an alias of the stored value that it looks at, run again by each reader. So is,
in fused operators, what dequantises a stored value: whole numbers stay what is stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from planners.core.access import CONVOLUTIONS, ELEMENTWISE, NORMS, POOLS
from planners.core.element_types import Width
from planners.core.errors import BadInput, ImportFailed
from planners.core.graph import GRANULARITIES, Graph, Operator, Part, Tensor
from planners.core.relations import Relation

TOLD_BY_KIND = frozenset(ELEMENTWISE | NORMS | POOLS | CONVOLUTIONS | {"linear"})
TAKES_BATCH_NORM = {"conv1d", "conv2d", "conv3d", "linear"}
TAKES_BATCH_NORM |= {"conv_transpose1d", "conv_transpose2d", "conv_transpose3d"}


@dataclass(frozen=True, slots=True)
class SlidingWindow:
    """What slides over the input: one number a spatial axis; empty where nothing slides."""

    kernel: tuple[int, ...] = ()
    stride: tuple[int, ...] = ()
    padding: tuple[int, ...] = ()
    dilation: tuple[int, ...] = ()
    groups: int = 1


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the trace: reads values by name, in the order of its arguments.

    `tensor` is its value, None where it gives several, which its `item` calls then pick out.
    `unary` is element-wise with one tensor operand. `relation` says how the value's elements read
    the operands, those of an item how they read what was split. `beyond` is what a pad writes
    around its operand, or a window takes to be past the edge of its own; None where that is not
    one number that is known.
    """

    name: str
    kind: str
    reads: tuple[str, ...]
    tensor: Tensor | None
    view: bool = False
    unary: bool = False
    item: bool = False
    macs: int = 0
    window: SlidingWindow = SlidingWindow()
    relation: Relation = ()
    block: str = ""
    beyond: float | None = None

    @property
    def pads(self) -> bool:
        """Whether it writes one known number around its operand, and does nothing else."""
        return self.relation[:1] == ("pad",) and self.beyond is not None


@dataclass(frozen=True, slots=True)
class CallTrace:
    """A model as it was traced: every call in the order it ran, and the values it returns.

    `inputs` hold what it keeps from run to run too; `state` names the new value of each, which is
    a call's own and among `outputs`.
    """

    name: str
    inputs: tuple[Tensor, ...]
    parameters: tuple[Tensor, ...]
    calls: tuple[Call, ...]
    outputs: tuple[str, ...]
    state: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Group:
    """Calls that one operator runs, in order; `main` gives it its name, kind and place."""

    calls: list[Call]
    main: Call


@dataclass(slots=True)
class _Values:
    """What each value of a trace is, at one granularity.

    `stored` maps a value to the stored tensors behind it: itself, what a view looks at, or nothing
    for a constant. `readers` maps a stored tensor to the calls that read it, through views or not.
    """

    calls: dict[str, Call]
    place: dict[str, int]
    constant: set[str] = field(default_factory=set)
    alias: set[str] = field(default_factory=set)
    stored: dict[str, tuple[str, ...]] = field(default_factory=dict)
    readers: dict[str, list[Call]] = field(default_factory=dict)
    outputs: set[str] = field(default_factory=set)


def to_graph(
    trace: CallTrace,
    granularity: str,
    *,
    bytes_per_element: Width = 1,
    source: Mapping[str, Any] | None = None,
) -> Graph:
    """The graph of a trace at a granularity. Raises `BadInput` where that is not one of the three.

    Linear in calls, but for the views and constants that several operators run again.
    """
    if granularity not in GRANULARITIES:
        raise BadInput(f"granularity {granularity!r} is not one of {', '.join(GRANULARITIES)}")
    values = _values(trace, granularity)
    groups = _groups(values, granularity)
    parameters = {t.name for t in trace.parameters}
    operators = [_operator(group, values, parameters) for group in groups]
    used = {name for op in operators for name in op.parameters}
    tensors = {t.name: t for t in trace.inputs}
    tensors |= {t.name: t for t in trace.parameters if t.name in used}
    tensors |= {name: _tensor(values.calls[name]) for op in operators for name in op.outputs}
    outputs = dict.fromkeys(s for name in trace.outputs for s in values.stored[name])
    _refuse_cut(trace.name, operators, outputs)
    return Graph(
        name=trace.name,
        tensors=tensors,
        operators=tuple(operators),
        inputs=tuple(t.name for t in trace.inputs),
        outputs=tuple(outputs),
        bytes_per_element=bytes_per_element,
        granularity=granularity,
        source=dict(source or {}),
        state=dict(trace.state),
    )


def _refuse_cut(name: str, operators: Sequence[Operator], outputs: Iterable[str]) -> None:
    """Raise `BadInput` for a network without outputs or with an operator that nothing needs."""
    read = {*outputs, *(tensor for op in operators for tensor in op.inputs)}
    if not outputs:
        raise BadInput(
            f"{name}: its inputs reach no operator whose value is returned: return what is computed"
        )
    for op in operators:
        if read.isdisjoint(op.outputs):
            raise BadInput(
                f"{name}: nothing reads what operator {op.name!r} writes: return it or remove it"
            )


def needed(calls: Mapping[str, Call], wanted: Iterable[str], known: Iterable[str]) -> set[str]:
    """The calls to run to obtain `wanted` where the values named `known` are at hand."""
    have, reached, stack = set(known), set[str](), list(wanted)
    while stack:
        name = stack.pop()
        if name in have or name in reached or name not in calls:
            continue
        reached.add(name)
        stack += calls[name].reads
    return reached


def _values(trace: CallTrace, granularity: str) -> _Values:
    calls = {call.name: call for call in trace.calls}
    live = needed(calls, trace.outputs, ())
    values = _Values(
        calls={name: call for name, call in calls.items() if name in live},
        place={call.name: i for i, call in enumerate(trace.calls)},
    )
    values.stored = {t.name: (t.name,) for t in trace.inputs}
    values.stored |= {t.name: () for t in trace.parameters}
    values.readers = {t.name: [] for t in trace.inputs}
    for call in values.calls.values():
        widens = granularity == "fused" and _widens(call) and call.name not in trace.outputs
        _classify(call, values, widens or (call.view and granularity != "aten"))
    values.outputs = {s for name in trace.outputs for s in values.stored[name]}
    return values


def _widens(call: Call) -> bool:
    """Whether it is what turns stored whole numbers into floats for those that read them."""
    return call.kind.startswith("dequantize") and call.unary and call.tensor is not None


def _classify(call: Call, values: _Values, alias: bool) -> None:
    name, stored = call.name, values.stored
    sources = _sources(call, stored)
    if not sources:
        values.constant.add(name)
        stored[name] = ()
    elif alias and stored[call.reads[0]]:
        values.alias.add(name)
        stored[name] = sources
    elif call.item and call.reads[0] not in values.alias:
        stored[name] = (name,)
        values.readers[name] = []
    else:
        stored[name] = (name,)
        values.readers[name] = []
        for source in sources:
            values.readers[source].append(call)


def _sources(call: Call, stored: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """What the bytes that a call reads are made of. Raises `BadInput` where one has none, such as a
    text in the place of weights."""
    for name in call.reads:
        if name not in stored:
            raise BadInput(
                f"{call.name!r:.80} reads {name!r:.80}, which is not a tensor of numbers"
            )
    return tuple(dict.fromkeys(s for name in call.reads for s in stored[name]))


def _groups(values: _Values, granularity: str) -> list[_Group]:
    """Calls that become operators, grouped; in the order of their main calls."""
    group_of: dict[str, _Group] = {}
    for call in values.calls.values():
        if call.name in values.constant or call.name in values.alias or call.item:
            continue
        into = None
        if granularity != "aten" and call.kind == "batch_norm":
            into = _convolution_before(call, values, group_of)
        elif granularity == "fused" and call.unary:
            into = _producer_of_only(call, values, group_of)
        if into is None:
            into = _Group([], call)
        into.calls.append(call)
        group_of[call.name] = into
    if granularity == "fused":
        _fold_forward(values, group_of)
    unique = {id(group): group for group in group_of.values()}
    return sorted(unique.values(), key=lambda group: values.place[group.main.name])


def _convolution_before(
    call: Call, values: _Values, group_of: Mapping[str, _Group]
) -> _Group | None:
    """The group of the convolution whose value this batch norm alone reads, as it is."""
    before = values.calls.get(call.reads[0])
    if before is None or before.kind not in TAKES_BATCH_NORM or before.name in values.outputs:
        return None
    alone = values.readers.get(before.name) == [call]
    return group_of[before.name] if alone and values.stored[before.name] else None


def _producer_of_only(call: Call, values: _Values, group_of: Mapping[str, _Group]) -> _Group | None:
    """The group that writes the value which this activation alone reads, all of it."""
    sources = _sources(call, values.stored)
    source = values.calls.get(sources[0])
    if len(sources) != 1 or source is None or source.name not in group_of:
        return None
    if values.readers[source.name] != [call] or source.name in values.outputs:
        return None
    name = call.reads[0]
    while name != source.name:
        view = values.calls[name]
        if view.tensor is None or view.tensor.elements != _tensor(source).elements:
            return None
        if _widens(view):  # What is stored stays as narrow as it is.
            return None
        name = view.reads[0]
    return group_of[source.name]


def _fold_forward(values: _Values, group_of: dict[str, _Group]) -> None:
    """Activations that stand alone go into the only operator that reads them."""
    for group in {id(group): group for group in group_of.values()}.values():
        last = group.calls[-1].name
        if last in values.outputs or not all(call.unary for call in group.calls):
            continue
        readers = {id(group_of[r.name]): group_of[r.name] for r in values.readers[last]}
        if len(readers) == 1:
            (reader,) = readers.values()
            reader.calls[:0] = group.calls
            for call in group.calls:
                group_of[call.name] = reader


def _operator(group: _Group, values: _Values, parameters: set[str]) -> Operator:
    main, last = group.main, group.calls[-1]
    outputs: tuple[str, ...] = (last.name,)
    if last.tensor is None:
        items = (call for call in values.calls.values() if call.item)
        outputs = tuple(call.name for call in items if call.reads[0] == last.name)
    inside = {call.name for call in group.calls}
    run, inputs, used = _closure(group, values, inside, parameters)
    run |= set(outputs)
    parts = sorted(run, key=values.place.__getitem__)
    window = main.window
    return Operator(
        name=main.name,
        kind=main.kind,
        inputs=inputs,
        outputs=outputs,
        parameters=used,
        macs=sum(values.calls[name].macs for name in run),  # on parameters alone, too
        kernel=window.kernel,
        stride=window.stride,
        padding=window.padding,
        dilation=window.dilation,
        groups=window.groups,
        parts=_parts([values.calls[name] for name in parts], main, values),
        block=main.block,
    )


def _parts(calls: list[Call], main: Call, values: _Values) -> tuple[Part, ...]:
    """The calls of an operator; how they read where that does not follow from kinds and sizes."""
    if {call.kind for call in calls} <= TOLD_BY_KIND:
        return tuple(Part(call.name, call.kind) for call in calls)
    return tuple(_detailed(call, main, values) for call in calls)


def _detailed(call: Call, main: Call, values: _Values) -> Part:
    reads, relation = call.reads, call.relation
    if relation in (("window",), ("transposed",)) and call is not main:
        relation = ()  # The operator has one window only.
    if relation[:1] == ("write",) and call.name in values.constant:
        relation = ()  # It runs with those that write what it writes into.
    if call.item and relation:
        reads = values.calls[reads[0]].reads[:1]
    shape = () if call.tensor is None else call.tensor.shape
    return Part(call.name, call.kind, shape, reads, relation)


def _closure(
    group: _Group, values: _Values, inside: set[str], parameters: set[str]
) -> tuple[set[str], tuple[str, ...], tuple[str, ...]]:
    """All calls that a group runs, the stored tensors and the parameters that they read."""
    run: set[str] = set()
    inputs: dict[str, None] = {}
    used: dict[str, None] = {}
    stack = [call.name for call in reversed(group.calls)]
    while stack:
        name = stack.pop()
        if name in parameters:
            used[name] = None
        elif name not in values.calls or (
            name not in inside and name not in values.constant and name not in values.alias
        ):
            inputs[name] = None
        elif name not in run:
            run.add(name)
            stack += reversed(values.calls[name].reads)
    return run, tuple(inputs), tuple(used)


def _tensor(call: Call) -> Tensor:
    if call.tensor is None:
        raise ImportFailed(f"{call.name} gives several values where one is read")
    return call.tensor
