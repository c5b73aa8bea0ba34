"""Where kernels run and what they read: rings in memory, and on CUDA one in the device's."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Protocol

import numpy as np
import torch

from planners.backends.disk.layout import ELEMENT_BYTES, DiskLayout, Streamed
from planners.backends.disk.ring import ParameterRing, RingTwice
from planners.core.errors import BadInput

_TYPES = {"F32": torch.float32, "I32": torch.int32}


class Device(Protocol):
    """Rings of a layout. `rings` are those in the CPU's memory, `bytes` what kernels read."""

    rings: tuple[ParameterRing, ...]
    bytes: torch.Tensor

    def copy(self, layer: Streamed) -> None:
        """Copy a layer from the CPU's ring to the device's; done when this returns."""

    def to_device(self, value: torch.Tensor) -> torch.Tensor:
        """A value where kernels read it."""

    def launched(self, ended: Callable[[], None]) -> None:
        """Call `ended` once all kernels so far have ended."""

    def close(self) -> None:
        """Give the rings back."""


def parameters_of(device: Device, layer: Streamed) -> list[torch.Tensor]:
    """A layer's parameters as views of the ring that kernels read, in its order."""
    tensors, at = [], layer.offsets[-1]
    for item in layer.held:
        flat = device.bytes[at : at + item.size_bytes].view(_TYPES[item.dtype])
        tensors.append(flat.view(item.shape))
        at += item.size_bytes
    return tensors


class OnCpu:
    """Kernels on the CPU: one ring, or two with copies between them."""

    def __init__(self, layout: DiskLayout) -> None:
        ring = RingTwice if layout.twice else ParameterRing
        self.rings = tuple(ring(size) for size in layout.rings)
        self.bytes = torch.frombuffer(self.rings[-1].mapped, dtype=torch.uint8)

    def copy(self, layer: Streamed) -> None:
        source, target = layer.offsets
        cpu, device = self.rings
        np.copyto(
            device.array[target : target + layer.size_bytes],
            cpu.array[source : source + layer.size_bytes],
        )

    def to_device(self, value: torch.Tensor) -> torch.Tensor:
        return value

    def launched(self, ended: Callable[[], None]) -> None:
        ended()

    def close(self) -> None:
        del self.bytes
        for ring in self.rings:
            ring.close()


class OnCuda:
    """Kernels on a GPU with a memory of its own: pinned memory, and a stream for copies.

    Kernels are launched ahead; a thread waits for each to end, so that its bytes are free only
    then. Raises `BadInput` without a GPU, and for plans of two stages.
    """

    def __init__(self, layout: DiskLayout, name: str) -> None:
        if not torch.cuda.is_available():
            raise BadInput("this machine has no CUDA device: run with device cpu")
        if layout.twice:
            raise BadInput("a GPU's memory is not mapped twice: plan without twice")
        if len(layout.rings) == 1:
            raise BadInput(
                "a GPU with a memory of its own copies: plan with stages 3, or pipeline async"
            )
        self.device = torch.device(name)
        cpu, gpu = layout.rings
        self.rings: tuple[ParameterRing, ...] = (ParameterRing(cpu),)
        self.runtime: Any = torch.cuda.cudart()
        ring = self.rings[0]
        with torch.cuda.device(self.device):
            if code := int(self.runtime.cudaHostRegister(ring.address, ring.allocated_bytes, 0)):
                ring.close()
                raise BadInput(f"cannot pin {ring.allocated_bytes} bytes: CUDA error {code}")
        self.host = torch.frombuffer(ring.mapped, dtype=torch.uint8)
        self.bytes = torch.empty(max(ELEMENT_BYTES, gpu), dtype=torch.uint8, device=self.device)
        self.copies = torch.cuda.Stream(self.device)
        self.kernels = torch.cuda.current_stream(self.device)
        self.copies.wait_stream(self.kernels)
        self.running: SimpleQueue[tuple[Any, Callable[[], None]] | None] = SimpleQueue()
        self.retiring = threading.Thread(target=self._retire, name="kernels", daemon=True)
        self.retiring.start()

    def copy(self, layer: Streamed) -> None:
        source, target = layer.offsets
        size = layer.size_bytes
        with torch.cuda.stream(self.copies):
            to = self.bytes[target : target + size]
            to.copy_(self.host[source : source + size], non_blocking=True)
            event = torch.cuda.Event(blocking=True)
            event.record(self.copies)
        # Kernels are launched once this has returned: they see what was copied.
        event.synchronize()

    def to_device(self, value: torch.Tensor) -> torch.Tensor:
        return value.to(self.device)

    def launched(self, ended: Callable[[], None]) -> None:
        event = torch.cuda.Event(blocking=True)
        event.record(self.kernels)
        self.running.put((event, ended))

    def _retire(self) -> None:
        while (item := self.running.get()) is not None:
            event, ended = item
            event.synchronize()
            ended()

    def close(self) -> None:
        self.running.put(None)
        self.retiring.join()
        torch.cuda.synchronize(self.device)
        del self.host, self.bytes
        self.runtime.cudaHostUnregister(self.rings[0].address)
        self.rings[0].close()


def device_of(name: str, layout: DiskLayout) -> Device:
    """The device of this name, `cpu` or `cuda` (`cuda:1`), with a layout's rings."""
    if name == "cpu":
        return OnCpu(layout)
    if name.split(":")[0] == "cuda":
        return OnCuda(layout, name)
    raise BadInput(f"device {name!r:.40} is not cpu or cuda")
