"""Random traces, and a symbolic run of them: what a value is, is how it was computed."""

from __future__ import annotations

from hypothesis import strategies as st

from planners.core.graph import Graph, Tensor
from planners.importers.passes import Call, CallTrace

SHAPE = (1, 4, 6, 6)


def call(name: str, kind: str, *reads: str, **more: object) -> Call:
    """A call whose value has the usual shape."""
    tensor = more.pop("tensor", Tensor(name, SHAPE))
    return Call(name, kind, reads, tensor, **more)  # type: ignore[arg-type]


@st.composite
def traces(draw: st.DrawFn) -> CallTrace:
    """Up to a dozen calls over one or two inputs and two parameters, constants among them."""
    inputs = [Tensor(f"x{i}", SHAPE, "input") for i in range(draw(st.integers(1, 2)))]
    parameters = [Tensor(f"w{i}", (4,), "parameter") for i in range(2)]
    values = [t.name for t in inputs]
    calls: list[Call] = []
    for i in range(draw(st.integers(1, 12))):
        kind = draw(st.sampled_from("conv2d batch_norm relu add view split zeros topk".split()))
        source = draw(st.sampled_from(values[-3:]))
        name = f"{kind}_{i}"
        if kind in ("conv2d", "batch_norm"):
            calls.append(call(name, kind, source, draw(st.sampled_from(["w0", "w1"]))))
        elif kind == "add":
            reads = dict.fromkeys((source, draw(st.sampled_from(values))))
            calls.append(call(name, kind, *reads))
        elif kind == "zeros":
            calls.append(call(name, kind))
        elif kind in ("split", "topk"):
            view = kind == "split"
            calls.append(call(name, kind, source, tensor=None, view=view))
            half = Tensor(f"{name}_0", (1, 2, 6, 6))
            calls.append(call(half.name, "getitem", name, tensor=half, view=view, item=True))
            name = half.name
        else:
            calls.append(call(name, kind, source, view=kind == "view", unary=kind == "relu"))
        values.append(name)
    outputs = draw(st.lists(st.sampled_from(values), min_size=1, max_size=3))
    reached = {t.name for t in inputs}
    for one in calls:
        reached |= {one.name} if reached & set(one.reads) else set()
    if reached.isdisjoint(outputs):
        outputs.append(inputs[0].name)
    return CallTrace("random", tuple(inputs), tuple(parameters), tuple(calls), tuple(outputs))


def meaning(trace: CallTrace) -> dict[str, object]:
    """Every value of a trace as the term that computes it."""
    known: dict[str, object] = {t.name: t.name for t in (*trace.inputs, *trace.parameters)}
    for one in trace.calls:
        known[one.name] = (one.name, *(known[read] for read in one.reads))
    return known


def run(graph: Graph, trace: CallTrace) -> dict[str, object]:
    """What each operator writes, given only what it says that it reads."""
    calls = {one.name: one for one in trace.calls}
    stored: dict[str, object] = {name: name for name in graph.inputs}
    for op in graph.operators:
        known = {name: stored[name] for name in op.inputs} | {p: p for p in op.parameters}
        for part in op.parts:
            known[part.name] = (part.name, *(known[read] for read in calls[part.name].reads))
        stored |= {name: known[name] for name in op.outputs}
    return stored
