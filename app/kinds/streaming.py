"""Plans whose parameters stream through rings: a step is a layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import planners as sp
from app.captions.sentence import Sentence
from app.captions.streaming import stream_story
from app.display.displayed_plan import DisplayedPlan
from app.display.stream import ShownRegion, Stream
from app.display.waits import stalled, waiting
from app.kinds.kind import Card, Row
from app.kinds.layer_rows import largest_rows, layer_rows, live_stream_rows, streams_tensor
from app.kinds.stream_bars import StreamBars
from app.kinds.stream_map import WEIGHTS, stream_rows
from app.kinds.strips import Strips
from app.kinds.timeline_bars import Bars
from app.kinds.whole_tensors import WholeKind
from app.model.state import TENSOR, operator_selection, selected_operators
from app.model.units import seconds_text
from planners.core.colours import STREAMED
from planners.core.units import format_bytes

DELAY = "from the first read (once all is loaded, where it is preloaded) to the last kernel"


class StreamKind(WholeKind):
    """What the page shows of layers and rings instead of what it shows of whole tensors."""

    planner = "streaming"
    about = (
        "Reads parameters layer by layer into a ring while earlier layers run, in a pipeline;"
        " a layer takes its time on the machine's roofline, or a paper's."
    )
    measure = "memory of rings and activations"
    budgets: Mapping[str, str] = {
        "MR": "the largest operator alone, without rings: streaming needs them beside activations",
        "MP": "the least peak of activations, without rings: streaming needs them beside these",
    }
    manner = "with weights that stream through it"
    whole_operators = False
    panel = "streams"
    pictures: Mapping[str, str] = {"delay against memory": "delay-front"}
    looks = STREAMED
    streams = True

    def made(self, shown: DisplayedPlan) -> bool:
        return shown.stream is not None

    def parts(self, shown: DisplayedPlan) -> str:
        stream = _stream(shown)
        return f"{stream.details.pipeline} · {len(stream.layers)} layers"

    def title(self, shown: DisplayedPlan) -> str:
        return self.parts(shown)

    def aim(self, plan: sp.Plan) -> str:
        return "memory of rings and activations"

    def cards(self, shown: DisplayedPlan) -> list[Card]:
        """Memory by its parts, the delay above that of all kernels alone, and what kernels waited
        for."""
        stream, details = _stream(shown), _stream(shown).details
        size, budget = stream.memory_bytes, shown.plan.budget_bytes
        rings = " + ".join(f"{format_bytes(ring.size_bytes)} {ring.name}" for ring in stream.rings)
        beside = "" if details.joint else f" + {format_bytes(details.activation_bytes)} activations"
        held_text = f"{size:,} bytes: {rings}{beside}"
        share = f"memory, {size / budget:.0%} of {format_bytes(budget)}"
        read = format_bytes(sum(layer.size_bytes for layer in stream.layers))
        parts = f"{'both' if details.joint else 'rings'}, of {read} read"
        waits = stalled(shown.stages, stream)
        causes = ", ".join(f"{cause} {seconds_text(seconds)}" for cause, seconds in waits.items())
        return [
            Card(format_bytes(size), share, "peak", held_text),
            Card(format_bytes(stream.ring_bytes), parts, "rings", held_text),
            _delay_card(stream),
            Card(seconds_text(sum(waits.values())), "kernels wait", "waits", causes or "never"),
        ]

    def rows(self, shown: DisplayedPlan, memory: str) -> Strips:
        return Strips(stream_rows(shown, memory))

    def limit(self, shown: DisplayedPlan) -> tuple[int, str]:
        return _stream(shown).regions[0].size_bytes, "rings and activations"

    def regions(self, shown: DisplayedPlan) -> Sequence[ShownRegion]:
        return _stream(shown).regions

    def room(self, shown: DisplayedPlan, memory: str) -> int:
        return next(r.size_bytes for r in _stream(shown).regions if r.memory == memory)

    def drawn(self, shown: DisplayedPlan, selection: str) -> set[str]:
        """Tensors, and the map's names for the parameters of the selected operator, or of a
        parameter's operator."""
        by_name, tensors = super().drawn(shown, selection), shown.graph.tensors
        tensor = tensors.get(selection.removeprefix(TENSOR))
        if selection.startswith(TENSOR) and (tensor is None or tensor.kind != "parameter"):
            return by_name
        return by_name | {WEIGHTS + name for name in selected_operators(shown.graph, selection)}

    def live(self, shown: DisplayedPlan, step: int, unit: str) -> list[Row]:
        return live_stream_rows(shown, _stream(shown), step)

    def largest(self, shown: DisplayedPlan) -> list[Row]:
        return largest_rows(_stream(shown))

    def of_tensor(self, shown: DisplayedPlan, name: str) -> list[Row]:
        owner = streams_tensor(shown.graph, name)
        more = layer_rows(shown, _stream(shown), owner) if owner else []
        return [*super().of_tensor(shown, name), *more]

    def of_operator(self, shown: DisplayedPlan, name: str) -> list[Row]:
        return layer_rows(shown, _stream(shown), name)

    def bars(self, shown: DisplayedPlan, trace: sp.Trace) -> Bars:
        return StreamBars(shown, trace)

    def lanes(self, shown: DisplayedPlan, trace: sp.Trace) -> list[str]:
        """The engines, in the order in which a layer passes through them."""
        used = {stage.engine: stage.kind for stage in shown.stages}
        return sorted(used, key=lambda engine: ("read", "copy", "kernel").index(used[engine]))

    def story(self, shown: DisplayedPlan, step: int) -> list[Sentence]:
        return stream_story(shown, step, _stream(shown))

    def waits(self, shown: DisplayedPlan) -> list[tuple[str, int]]:
        """The layers whose kernels wait: a step is a layer."""
        layers = _stream(shown).layers
        return [(operator_selection(layers[k].operator), k) for k in waiting(shown.stages)]

    def changes_at_front(self, options: Mapping[str, Any]) -> bool:
        exact = options.get("pipeline") == "exact" and options.get("slices") == 1
        return exact and not options.get("joint")

    def front(self, plan: sp.Plan) -> list[int]:
        streamed = plan.details.streamed
        return sorted({memory for memory, _ in streamed.front}) if streamed else []


def _delay_card(stream: Stream) -> Card:
    details = stream.details
    late = f"{stream.overhead:+.1%} over all kernels alone"
    about = [f"{DELAY}; {late}, which take {seconds_text(details.kernel_s)}", details.times]
    label = f"delay, {stream.overhead:+.1%} over kernels"
    if details.preload_s:
        about.append(f"preloading before it: {seconds_text(details.preload_s)}")
    if details.bound_s is not None:
        label = f"delay, at most {seconds_text(details.bound_s)}"
        about.append(f"guaranteed: no later than {seconds_text(details.bound_s)}")
    return Card(seconds_text(details.delay_s), label, "latency", "\n".join(about))


def _stream(shown: DisplayedPlan) -> Stream:
    assert shown.stream is not None
    return shown.stream
