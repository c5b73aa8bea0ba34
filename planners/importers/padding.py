"""Pads in front of windows, as the padding of those windows.

A convolution or a pool has something of its own past the edge of what it reads: zero, a zero point,
or what is never the greatest. A call that writes nothing else around a value, for such windows
alone, has no tensor of its own then. That holds to the last bit, or the call stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from planners.core.element_types import Width
from planners.core.graph import Graph, Tensor
from planners.importers.passes import Call, CallTrace, needed, to_graph

WINDOW = ("window",)
MOST_WINDOWS = 10_000
"""Windows with gaps wider than their data that are looked at one by one; of more, pads stay."""


def graph_of(
    trace: CallTrace,
    granularity: str,
    *,
    bytes_per_element: Width = 1,
    source: Mapping[str, Any] | None = None,
    fold_padding: bool = True,
) -> Graph:
    """As `to_graph`, with pads folded below granularity `aten`, and their number in the source.

    A source says where pads were kept that could have been folded. Raises `BadInput`.
    """
    about = dict(source or {})
    if granularity != "aten":
        folded, count = fold_pads(trace)
        if count:
            about |= {"folded_pads": count} if fold_padding else {"fold_padding": False}
        trace = folded if fold_padding else trace
    return to_graph(trace, granularity, bytes_per_element=bytes_per_element, source=about)


def fold_pads(trace: CallTrace) -> tuple[CallTrace, int]:
    """The trace without the pads that its windows can be padded with, and how many those were.

    Linear in calls and what they read. Of pads one behind the other each counts.
    """
    state = _PadState.from_trace(trace)
    for name in reversed(list(state.calls)):
        if (padded := _folded(state.calls[name], state)) is not None:
            state.fold(name, padded)
    count = sum(name not in state.calls for name in state.all)
    return (replace(trace, calls=tuple(state.calls.values())), count) if count else (trace, 0)


@dataclass(slots=True)
class _PadState:
    """The calls that the outputs need, and what is known of their values.

    `all` are their names before anything was folded, `readers` those of each value by now.
    """

    calls: dict[str, Call]
    all: tuple[str, ...]
    readers: dict[str, set[str]]
    tensors: dict[str, Tensor]
    outputs: frozenset[str]
    reached: set[str]

    @classmethod
    def from_trace(cls, trace: CallTrace) -> _PadState:
        every = {call.name: call for call in trace.calls}
        live = needed(every, trace.outputs, ())
        calls = {name: call for name, call in every.items() if name in live}
        tensors = {tensor.name: tensor for tensor in trace.inputs}
        reached, readers = set(tensors), dict[str, set[str]]()
        for call in calls.values():
            if call.tensor is not None:
                tensors[call.name] = call.tensor
            if not reached.isdisjoint(call.reads):
                reached.add(call.name)
            for name in call.reads:
                readers.setdefault(name, set()).add(call.name)
        return cls(calls, tuple(calls), readers, tensors, frozenset(trace.outputs), reached)

    def fold(self, name: str, padded: Mapping[str, Call]) -> None:
        """Without a pad, and with its readers as they are then."""
        source = self.calls.pop(name).reads[0]
        self.readers[source] = (self.readers[source] - {name}) | set(padded)
        self.calls |= padded


def _folded(pad: Call, state: _PadState) -> dict[str, Call] | None:
    """Those that read a pad, padded by themselves; None where one of them cannot be."""
    readers = sorted(state.readers.get(pad.name, ()))
    if not pad.pads or not readers or pad.name in state.outputs:
        return None
    if pad.name not in state.reached:
        return None
    source = state.tensors.get(pad.reads[0])
    if source is None or pad.tensor is None or not _in_space(pad, source):
        return None
    padded: dict[str, Call] = {}
    for name in readers:
        call = _padded(state.calls[name], pad, source)
        if call is None:
            return None
        padded[name] = call
    return padded


def _in_space(pad: Call, source: Tensor) -> bool:
    """Whether it adds elements along axes of space only, and takes none away."""
    assert pad.tensor is not None
    before = [int(n) for n in pad.relation[1:]]
    sizes = zip(pad.tensor.shape, source.shape, before, strict=True)
    sides = [(front, n - size - front) for n, size, front in sizes]
    return all(min(side) >= 0 for side in sides) and not any(map(any, sides[:2]))


def _padded(call: Call, pad: Call, source: Tensor) -> Call | None:
    """A window that reads a pad as one of what is padded; None where that is another one."""
    if call.relation != WINDOW or call.beyond != pad.beyond or call.tensor is None:
        return None
    if call.reads[0] != pad.name or {pad.name, source.name} & set(call.reads[1:]):
        return None
    slide, axes = call.window, len(source.shape) - 2
    if len(slide.kernel) != axes or len(call.tensor.shape) != axes + 2:
        return None
    padding = tuple(p + int(n) for p, n in zip(slide.padding, pad.relation[3:], strict=True))
    ends = zip(source.shape[2:], call.tensor.shape[2:], strict=True)
    spans = zip(slide.kernel, slide.stride, padding, slide.dilation, strict=True)
    mean = call.kind.startswith("avg")
    if not all(suits(*end, *span, mean) for end, span in zip(ends, spans, strict=True)):
        return None
    window = replace(slide, padding=padding)
    return replace(call, reads=(source.name, *call.reads[1:]), window=window)


def suits(size: int, outputs: int, k: int, s: int, p: int, d: int, mean: bool) -> bool:
    """Whether each window along an axis meets the data; those of a mean reach no further behind
    it than in front, where all that counts in them is taken to end."""
    behind = (outputs - 1) * s - p + d * (k - 1) + 1 - size
    if p < 0 or (mean and behind > p):
        return False
    if p > (k - 1) * d or (outputs - 1) * s - p >= size:
        return False  # The first window ends in front of the data, or the last begins behind it.
    if size >= d:
        return True
    # Gaps as wide as the data: each window that begins in front of it must not step over it.
    begins = range(-p, min(0, outputs * s - p), s)
    return len(begins) <= MOST_WINDOWS and all(at % d < size for at in begins)
