"""A streaming plan on this machine: layers are read, copied and run as its rings allow."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from planners.backends.disk.devices import Device, device_of, parameters_of
from planners.backends.disk.gates import Gate
from planners.backends.disk.kernels import DiskKernels
from planners.backends.disk.layout import DiskLayout, layout_of
from planners.backends.disk.preload import preload
from planners.backends.disk.reader import Storage
from planners.backends.disk.result import compared, finished
from planners.backends.disk.run_state import Course
from planners.backends.disk.weights import starts_of
from planners.core.backends import StreamedRun
from planners.core.errors import BadInput
from planners.core.gc_pause import give_back
from planners.core.plan import Plan
from planners.executor.execute import frozen, torch_threads
from planners.importers.torch.source_model import SourceModel
from planners.importers.torch.trace import example

# ---- The system's figures for this process's memory; None where it has none ----------------------


def resident_bytes(field: str = "VmRSS") -> int | None:
    """Resident bytes now, or with `VmHWM` the most since `reset_peak`."""
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:
            for line in file:
                if line.startswith(field + ":"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def reset_peak() -> bool:
    """Let the peak begin at what is resident now; whether the system does it."""
    try:
        with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
            file.write("5")
    except OSError:
        return False
    return True


class Growth:
    """How much a process's own memory grows by at most, from now on.

    Pages of files, such as the code of kernels that run for the first time, are not counted.
    """

    def __init__(self) -> None:
        tidy()
        self.counted = reset_peak()
        self.before, self.files = resident_bytes(), resident_bytes("RssFile")

    def most_bytes(self) -> int | None:
        """The most until now; None where the system does not report it."""
        peak, files = resident_bytes("VmHWM"), resident_bytes("RssFile")
        if not self.counted or None in (self.before, self.files, peak, files):
            return None
        return max(0, (peak or 0) - (self.before or 0) - ((files or 0) - (self.files or 0)))


def tidy() -> None:
    """Give back unused memory, so that what is resident is what is held."""
    gc.collect()
    give_back()


# --------------------------------------------------------------------------------------------------

GRACE_S = 2.0
"""Seconds that a thread is waited for when a run has failed."""


@dataclass(frozen=True, slots=True)
class _How:
    device: str
    repeats: int
    warm: int
    stall_s: float
    direct: bool


def stream(
    plan: Plan,
    module: torch.nn.Module,
    inputs: Sequence[Any],
    weights_path: str | Path,
    *,
    device: str = "cpu",
    repeats: int = 1,
    warm: int = 0,
    threads: int | None = None,
    reference: Any = None,
    compare: bool = True,
    stall_s: float = 30.0,
    direct: bool = True,
) -> StreamedRun:
    """Run a streaming plan with parameters from a file, in rings of the planned bytes.

    The module is best on the meta device: only its calls are used, its parameters come from the
    ring. `weights_path` is what `write_weights` wrote for this graph. Of several `repeats`, after
    `warm` others that do not count, the one with the median delay is reported. `threads` are
    PyTorch's for a kernel (results may depend on them; None leaves them). `reference` are outputs
    to compare with, bit by bit; by default the file is read whole afterwards and the module run
    with all of it in memory; nothing is compared without `compare`. A request to storage that
    takes over `stall_s` seconds ends the run, and without `direct` the page cache is used.

    Raises `BadInput` for a plan, module or file that do not fit each other, for storage that
    fails, stalls or changes; nothing is left running then, but a request that the system never
    answers.
    """
    if repeats < 1 or warm < 0:
        raise BadInput(f"repeats must be 1 or more and warm 0 or more, not {repeats} and {warm}")
    inputs = example(module, inputs)
    how = _How(device, repeats, warm, stall_s, direct)
    with torch_threads(threads):
        done = _streamed(plan, module, inputs, weights_path, how)
    if not compare:
        return done
    if reference is None:
        layout, path = layout_of(plan), str(weights_path)
        with torch_threads(threads):
            loaded = preload(plan.graph, layout, module, inputs, path, direct=direct, device=device)
        reference = loaded.outputs
    return compared(done, reference)


def _streamed(
    plan: Plan,
    module: torch.nn.Module,
    inputs: Sequence[Any],
    weights_path: str | Path,
    how: _How,
) -> StreamedRun:
    """The run itself, not compared."""
    layout = layout_of(plan)
    starts = starts_of(weights_path, layout)
    model = SourceModel(module, inputs)
    model.forget_parameters()
    values = model.input_values(inputs)
    growth = Growth()
    storage = Storage(weights_path, how.direct)
    there: Device | None = None
    try:
        there = device_of(how.device, layout)
        storage.forget()
        runs = []
        for number in range(how.warm + how.repeats):
            kernels = DiskKernels(plan.graph, layout, model, there, values)
            course = Course.for_layout(layout, storage.path, how.stall_s)
            with torch.no_grad(), frozen(module):
                _run(layout, starts, storage, there, kernels, course)
                outputs = kernels.outputs()
            if number >= how.warm:
                runs.append((course, kernels.peak_bytes))
        done = finished(layout, runs, outputs, there, storage, growth.most_bytes())
    finally:
        storage.close()
        if there is not None:
            there.close()
    return done


def _run(
    layout: DiskLayout,
    starts: Sequence[int],
    storage: Storage,
    device: Device,
    kernels: DiskKernels,
    course: Course,
) -> None:
    """Run all layers once: a thread reads, another copies where there are two rings."""
    works = [partial(_read, layout, starts, storage, device, course)]
    if len(layout.rings) == 2:
        works.append(partial(_copy, layout, device, course))
    names = ("reads", "copies")
    threads = [
        threading.Thread(target=_guarded, args=(work, course), name=name, daemon=True)
        for work, name in zip(works, names)
    ]
    for thread in threads:
        thread.start()
    try:
        _kernels(layout, device, kernels, course)
        storage.check()
    except BaseException as error:
        course.fail(error)
    for thread in threads:
        thread.join(None if course.failure is None else GRACE_S)
    if course.failure is not None:
        raise course.failure


def _guarded(work: Callable[[], None], course: Course) -> None:
    """Whatever goes wrong in a thread stops the run."""
    try:
        work()
    except BaseException as error:
        course.fail(error)


def _read(
    layout: DiskLayout, starts: Sequence[int], storage: Storage, device: Device, course: Course
) -> None:
    ring = device.rings[0]
    for i, layer in enumerate(layout.layers):
        if not layer.size_bytes:
            course.ended("read", i)
            continue
        course.wait(layout.gates[i].read)
        began, at = course.now(), layer.offsets[0]
        target = ring.view(at, layer.size_bytes)
        storage.read(starts[i], target, ring.address + at, partial(course.requesting, i))
        course.answered()
        course.ended("read", i, began)


def _copy(layout: DiskLayout, device: Device, course: Course) -> None:
    for i, layer in enumerate(layout.layers):
        if not layer.size_bytes:
            course.ended("copy", i)
            continue
        course.wait(layout.gates[i].copy)
        began = course.now()
        device.copy(layer)
        course.ended("copy", i, began)


def _kernels(layout: DiskLayout, device: Device, kernels: DiskKernels, course: Course) -> None:
    for i, layer in enumerate(layout.layers):
        course.wait(layout.gates[i].kernel)
        began = course.now()
        kernels.run(i, parameters_of(device, layer))
        device.launched(partial(course.ended, "kernel", i, began))
    course.wait(Gate(kernels=len(layout.layers)))
