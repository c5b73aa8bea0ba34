"""What a forward pass keeps in plain attributes: PyTorch puts them back when it exports."""

from __future__ import annotations

import copy
import re
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch.export import ExportedProgram

Export = Callable[[torch.nn.Module, tuple[Any, ...]], ExportedProgram]
_WARNING, _NAME = "assigned during export", re.compile(r"self\.([\w.]+)")


def exported(
    module: torch.nn.Module, inputs: tuple[Any, ...], export: Export
) -> tuple[ExportedProgram, set[str]]:
    """A module's program, and the paths of the attributes to which it assigns tensors."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        program = export(module, inputs)
    lines = [str(item.message) for item in seen if _WARNING in str(item.message)]
    names = {name for line in lines for name in _NAME.findall(line.split(_WARNING)[0])}
    return program, names


def kept_attributes(module: torch.nn.Module, inputs: tuple[Any, ...], export: Export) -> list[str]:
    """The attributes that a second pass both reads, as the first one left them, and assigns.

    What is assigned and not read, or read and not assigned anew, is no state: a note of what was
    seen, or a table that is made once. Empty where the module runs once only.
    """
    second = copy.deepcopy(module)
    try:
        second(*copy.deepcopy(inputs))
        program, names = exported(second, inputs, export)
    except Exception:  # a module raises anything
        return []
    read = [spec.target or "" for spec in program.graph_signature.input_specs]
    return sorted(name for name in names if any(f"{one}.".startswith(f"{name}.") for one in read))
