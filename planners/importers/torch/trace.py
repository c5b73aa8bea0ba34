"""PyTorch modules through `torch.export`, always on the CPU and in eval mode."""

from __future__ import annotations

import contextlib
import copy
import logging
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from planners.core.errors import ImportFailed
from planners.importers.torch.program import read_program
from planners.importers.torch.steps import TorchTrace


def trace_module(
    module: torch.nn.Module, example_inputs: Sequence[Any], name: str | None = None
) -> TorchTrace:
    """Export a module in eval mode. Raises `ImportFailed` with the exporter's first line.

    A module on the meta device is traced as an uninitialised one on the CPU, so that the names in
    its trace are those that the real module gives.
    """
    label = name or type(module).__name__
    module, inputs = _on_cpu(module, tuple(example_inputs))
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        with torch.no_grad(), _quietly():
            program = torch.export.export(module, inputs, strict=False)
    except Exception as error:  # the exporter raises anything, from UserError to AssertionError
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ImportFailed(f"torch.export cannot trace {label}: {first}") from error
    finally:
        for part, training in modes:
            part.training = training
    return read_program(program, label)


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """No warnings, and no log of an exception that is raised all the same."""
    log = logging.getLogger("torch._subclasses.fake_tensor")
    log.addFilter(_nothing)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.removeFilter(_nothing)


def _nothing(record: logging.LogRecord) -> bool:
    return False


def _on_cpu(
    module: torch.nn.Module, inputs: tuple[Any, ...]
) -> tuple[torch.nn.Module, tuple[Any, ...]]:
    tensors = (*module.parameters(), *module.buffers())
    if any(tensor.is_meta for tensor in tensors):
        module = copy.deepcopy(module).to_empty(device="cpu")
    move = torch.utils._pytree.tree_map_only
    return module, move(
        torch.Tensor, lambda t: torch.empty_like(t, device="cpu") if t.is_meta else t, inputs
    )
