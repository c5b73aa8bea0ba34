"""What came of a streamed run: outputs, memory, and times beside the planned ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from planners.backends.disk.devices import Device
from planners.backends.disk.gates import kernel_ends
from planners.backends.disk.layout import DiskLayout
from planners.backends.disk.reader import Storage
from planners.backends.disk.run_state import Course
from planners.core.backends import LayerRun, Span, StreamedRun


def finished(
    layout: DiskLayout,
    runs: Sequence[tuple[Course, int]],
    outputs: Any,
    device: Device,
    storage: Storage,
    growth: int | None,
) -> StreamedRun:
    """The result of several runs, that with the median delay; not yet compared."""
    times = [_delay(layout, course) for course, _ in runs]
    course, peak = sorted(zip(times, runs), key=lambda pair: pair[0])[(len(runs) - 1) // 2][1]
    resident = [ring.resident_bytes() for ring in device.rings]
    counted = [size for size in resident if size is not None]
    allocated = sum(ring.allocated_bytes for ring in device.rings)
    if len(device.rings) < len(layout.rings):
        allocated += device.bytes.numel()
    return StreamedRun(
        outputs=outputs,
        reference=None,
        equal=None,
        max_abs_error=None,
        ring_planned_bytes=sum(layout.rings),
        ring_allocated_bytes=allocated,
        ring_resident_bytes=sum(counted) if len(counted) == len(resident) else None,
        held_bytes=course.held_bytes(),
        staging_bytes=len(storage.staging),
        weight_bytes=layout.size_bytes,
        activation_planned_bytes=layout.activation_bytes,
        activation_peak_bytes=peak,
        rss_growth_bytes=growth,
        delay_s=_delay(layout, course),
        predicted_delay_s=layout.delay_s,
        scheduled_delay_s=_scheduled(layout, course),
        delays_s=tuple(times),
        preload_s=_preload(layout, course),
        layers=_layers(layout, course),
        runs=tuple(_layers(layout, course) for course, _ in runs),
        direct_io=storage.direct,
        notes=_notes(layout, storage),
    )


def _preload(layout: DiskLayout, course: Course) -> float:
    return course.spans["kernel"][0][0] if layout.pipeline == "pre" else 0.0


def _delay(layout: DiskLayout, course: Course) -> float:
    return course.spans["kernel"][-1][1] - _preload(layout, course)


def _scheduled(layout: DiskLayout, course: Course) -> float:
    """The delay of the schedule with the run's own times."""

    def took(span: Span | None) -> float | None:
        return None if span is None else span[1] - span[0]

    rows = _layers(layout, course)
    times = [(took(r.read), took(r.copy), r.kernel[1] - r.kernel[0]) for r in rows]
    if layout.pipeline == "pre":
        return sum(kernel for _, _, kernel in times)
    return kernel_ends(layout.gates, times)[-1]


def _layers(layout: DiskLayout, course: Course) -> tuple[LayerRun, ...]:
    runs = []
    for i, layer in enumerate(layout.layers):
        streams, copies = layer.size_bytes > 0, len(layout.rings) == 2
        runs.append(
            LayerRun(
                name=layer.name,
                size_bytes=layer.size_bytes,
                read=course.spans["read"][i] if streams else None,
                copy=course.spans["copy"][i] if streams and copies else None,
                kernel=course.spans["kernel"][i],
                planned_s=(layer.read_s, layer.copy_s, layer.kernel_s),
            )
        )
    return tuple(runs)


def _notes(layout: DiskLayout, storage: Storage) -> tuple[str, ...]:
    notes = [storage.note] if storage.note else []
    if layout.scale != 1:
        notes.append(
            f"planned with {4 // layout.scale} byte(s) an element, run with four: sizes are "
            f"{layout.scale} times the plan's, and its predicted delay is of the smaller ones"
        )
    if layout.joint:
        notes.append(
            "planned jointly: parameters lie where the plan has them, activations in memory of "
            "their own beside them, so that both take more than the plan's memory"
        )
    if any(layer.part is not None for layer in layout.layers):
        notes.append("a kernel of a slice may round otherwise than that of the whole layer")
    return tuple(notes)


def compared(run: StreamedRun, reference: Any) -> StreamedRun:
    """The run beside outputs that it should equal."""
    ours, theirs = _leaves(run.outputs), _leaves(reference)
    same = len(ours) == len(theirs) and all(map(_same_bits, ours, theirs))
    error = max(map(_error, ours, theirs), default=0.0)
    return replace(run, reference=reference, equal=same, max_abs_error=error)


def _leaves(tree: Any) -> list[torch.Tensor]:
    leaves = torch.utils._pytree.tree_leaves(tree)
    return [leaf.detach().cpu() for leaf in leaves if isinstance(leaf, torch.Tensor)]


def _same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return torch.equal(_bytes(a), _bytes(b))


def _bytes(value: torch.Tensor) -> torch.Tensor:
    return value.contiguous().reshape(-1).view(torch.uint8)


def _error(a: torch.Tensor, b: torch.Tensor) -> float:
    """The largest difference; equal infinities and equal NaNs do not differ."""
    if a.shape != b.shape:
        return float("inf")
    same = (a == b) | (a.isnan() & b.isnan())
    difference = torch.where(same, 0.0, (a.double() - b.double()).abs())
    return float(difference.nan_to_num(nan=float("inf")).max()) if a.numel() else 0.0
