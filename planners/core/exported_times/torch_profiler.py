"""`export_chrome_trace` of PyTorch's profiler: how long each call of an operator took on the CPU.

A trace has no names of modules that a graph has, but calls in order, and `torch.export` numbers
each kind of call in the order in which the module makes it: of each kind the third call of a run is
the graph's third. That holds where every kind of call occurs as often as in the graph, or as often
in each of several runs, which are samples. Calls inside of others are part of their time. Views and
dropout at inference, which compute nothing, may occur more or less often: then their time (of
dispatch) is left out. Where the trace has shapes (`record_shapes=True`), weights must be alike.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any

from planners.core.errors import BadInput
from planners.core.exported_times.request import (
    ExportedTimes,
    TimesFile,
    operators_by_part,
    quantity,
)
from planners.core.graph import Graph, Operator
from planners.core.reading_limits import parsed_json

ON_DEVICES = ("kernel", "gpu_memcpy", "gpu_memset", "privateuse1_runtime", "privateuse1_driver")
FREE = frozenset(
    "_reshape_alias _unsafe_view alias as_strided chunk contiguous detach dropout dropout_ expand "
    "expand_as flatten getitem movedim narrow numpy_T permute reshape select slice split "
    "split_with_sizes squeeze swapaxes t to transpose unbind unflatten unsqueeze view "
    "view_as".split()
)
"""Calls that compute nothing where they call nothing but each other."""
_NUMBERED = re.compile(r"(?P<kind>.*?)(?:_(?P<number>\d+))?")
_RUN = "ProfilerStep#"


@dataclass(slots=True)
class TracedCall:
    """A call that no other call made: `inner` are the kinds of those that it made itself."""

    where: str
    kind: str
    start_us: float
    spent_us: float
    shapes: Any
    inner: set[str] = field(default_factory=set)

    @property
    def stop_us(self) -> float:
        return self.start_us + self.spent_us

    @property
    def is_free(self) -> bool:
        return self.kind in FREE and self.inner <= FREE


def read(file: TimesFile) -> ExportedTimes:
    """Seconds of each operator in each run. Raises `BadInput` for a call that is no operator's."""
    calls = defaultdict[str, list[TracedCall]](list)
    for call in _outermost(file):
        calls[call.kind].append(call)
    parts = _parts_in_order(file.graph)
    runs = _runs(file, calls, parts)
    seconds = {op.name: [0.0] * runs for op in file.graph.operators}
    for kind, operators in parts.items():
        mine = calls.get(kind, [])
        if len(mine) != runs * len(operators):
            continue  # free ones
        for i, call in enumerate(mine):
            op = operators[i % len(operators)]
            _require_weights(file.graph, op, call)
            seconds[op.name][i // len(operators)] += call.spent_us / 1e6
    return ExportedTimes(seconds, f"PyTorch's profiler, {file.path.name}, {_runs_text(runs)}")


def _runs(
    file: TimesFile, calls: Mapping[str, list[TracedCall]], parts: Mapping[str, list[Operator]]
) -> int:
    """How often the graph ran. Raises `BadInput` for the first kind of call that says otherwise."""
    path, name = file.path, file.graph.name
    ratios = Counter(
        len(calls.get(kind, ())) // len(ours) for kind, ours in parts.items() if kind not in FREE
    )
    del ratios[0]
    if not ratios:
        raise BadInput(f"{path}: it has no calls of the operators of {name}")
    runs = ratios.most_common(1)[0][0]
    unknown = [kind for kind in calls if kind not in parts]
    for kind in (*unknown, *parts):
        traced, ours = calls.get(kind, []), len(parts.get(kind, ()))
        is_free = kind in FREE and all(call.is_free for call in traced)
        if len(traced) != runs * ours and not is_free:
            raise BadInput(
                f"{path}: {_aten(kind)} was called {_times(len(traced))}, and {name} calls it "
                f"{_times(runs * ours)} in {_runs_text(runs)}: another module, or another path "
                "through it"
            )
    return runs


def _aten(kind: str) -> str:
    return repr(f"aten::{kind:.60}")


def _times(count: int) -> str:
    return "never" if not count else "once" if count == 1 else f"{count} times"


def _runs_text(count: int) -> str:
    return "a run" if count == 1 else f"{count} runs"


def _parts_in_order(graph: Graph) -> dict[str, list[Operator]]:
    """By kind of call (`relu_` apart from `relu`) the operators that make it, in their order."""
    by_operator = defaultdict[str, list[tuple[float, Operator]]](list)
    for name, (op, part) in operators_by_part(graph).items():
        match = _NUMBERED.fullmatch(name)
        kind, number = (match["kind"], match["number"]) if match else ("", None)
        if kind in (part.kind, f"{part.kind}_"):
            by_operator[kind].append((float(number or 0), op))
        else:
            by_operator[part.kind].append((inf, op))
    for kind, mine in by_operator.items():
        if len({number for number, _ in mine}) < len(mine) and kind not in FREE:
            raise BadInput(
                f"{graph.name}: its calls of {kind:.60} are not named in their order: a trace of "
                "PyTorch's profiler says nothing of a graph from other files than PyTorch's"
            )
    return {
        kind: [op for _, op in sorted(mine, key=lambda each: each[0])]
        for kind, mine in by_operator.items()
    }


def _require_weights(graph: Graph, op: Operator, call: TracedCall) -> None:
    """Raises `BadInput` where the trace says other shapes of weights than the graph."""
    if call.kind not in ("conv2d", "linear") or not isinstance(call.shapes, list):
        return
    weights = call.shapes[1] if len(call.shapes) > 1 else None
    if weights not in [list(graph.tensors[name].shape) for name in op.parameters]:
        raise BadInput(
            f"{call.where}: weights of {weights!s:.60}, which layer {op.name!r:.60} has not: "
            "the trace is of another network"
        )


# ---- the trace ----


def _outermost(file: TimesFile) -> list[TracedCall]:
    """The calls that no other call made, in order; where steps are marked, those within."""
    threads = defaultdict[str, list[TracedCall]](list)
    steps = list[tuple[float, float]]()
    for where, event in _events(file):
        category, name = event.get("cat"), event.get("name")
        if category in ON_DEVICES:
            raise BadInput(
                f"{where}: a {category} of a device: only a profile of a run on the CPU says what "
                "each call takes"
            )
        is_step = category == "user_annotation" and str(name).startswith(_RUN)
        if not is_step and category != "cpu_op":
            continue
        call = _call(where, event)
        if is_step:
            steps.append((call.start_us, call.stop_us))
        else:
            threads[f"{event.get('pid')} {event.get('tid')}"].append(call)
    outermost = [call for calls in threads.values() for call in _outer(calls)]
    outermost.sort(key=lambda call: call.start_us)
    steps.sort()
    return [call for call in outermost if _is_within(call, steps)] if steps else outermost


def _is_within(call: TracedCall, steps: list[tuple[float, float]]) -> bool:
    """Whether a call begins in one of these steps, of which one follows the other."""
    before = bisect(steps, (call.start_us, inf))
    return before > 0 and call.start_us < steps[before - 1][1]


def _outer(calls: Iterable[TracedCall]) -> Iterator[TracedCall]:
    """Of a thread's calls those in no other one, which learn what they call."""
    outer: TracedCall | None = None
    for call in sorted(calls, key=lambda each: (each.start_us, -each.stop_us)):
        if outer is not None and call.start_us < outer.stop_us:
            outer.inner.add(call.kind)
        else:
            yield (outer := call)


def _call(where: str, event: Mapping[str, Any]) -> TracedCall:
    start = quantity(event.get("ts"), f"{where}: ts", 1e18)
    spent = quantity(event.get("dur"), f"{where}: dur")
    args = event.get("args")
    shapes = args.get("Input Dims") if isinstance(args, dict) else None
    kind = str(event.get("name")).removeprefix("aten::")
    return TracedCall(where, kind, start, spent, shapes)


def _events(file: TimesFile) -> Iterator[tuple[str, dict[str, Any]]]:
    """The events that last, each with its place."""
    try:
        data = parsed_json(file.text, file.path)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{file.path} is not JSON: {error}") from error
    events = data.get("traceEvents") if isinstance(data, dict) else data
    if not isinstance(events, list):
        raise BadInput(f"{file.path}: JSON without traceEvents: no trace of PyTorch's profiler")
    for number, event in enumerate(events):
        if isinstance(event, dict) and event.get("ph") == "X":
            yield f"{file.path}, event {number}", event
