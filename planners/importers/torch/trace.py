"""PyTorch modules through `torch.export`, always on the CPU and in eval mode."""

from __future__ import annotations

import contextlib
import copy
import inspect
import io
import logging
import random
import re
import traceback
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.export import ExportedProgram
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from torch.nn.modules import module as modules

from planners.core.errors import BadInput, ImportFailed
from planners.importers.torch.open_sizes import symbols_of
from planners.importers.torch.program import read_program
from planners.importers.torch.steps import TorchTrace

# ---- What is given as a module and as its inputs: many forms, or one line that says what is wrong


def checked_module(module: Any) -> Any:
    """A module or an exported program; the module itself where it was compiled.

    Raises `BadInput` for anything else, with what to give instead.
    """
    if isinstance(module, torch.jit.ScriptModule):
        raise BadInput("TorchScript cannot be exported: give the module that it was made of")
    if isinstance(module, (torch.nn.Module, ExportedProgram)):
        return getattr(module, "_orig_mod", module)
    raise BadInput(f"from_torch needs a torch.nn.Module with its weights in it{_instead(module)}")


def _instead(module: Any) -> str:
    if isinstance(module, (str, Path)):
        return (
            f", not a path: sp.load({str(module)!r:.80}) reads .pt2, .onnx, .tflite and .cfg files"
        )
    if isinstance(module, Mapping):
        tensors = all(isinstance(value, torch.Tensor) for value in module.values())
        what = "a state_dict, which has weights and no network" if tensors else "a dict"
        return f", not {what}: build the module and load_state_dict() it"
    if isinstance(module, type):
        return f", not the class {module.__name__}: make one, as in {module.__name__}(...)"
    if callable(module):
        return ", not a function: call it in a module's forward"
    return f", not {type(module).__name__}"


def example(module: Any, inputs: Any) -> tuple[Any, ...]:
    """The positional arguments of a call: of one tensor, a sequence of them, or keywords.

    A tensor is the only argument; a mapping is bound to the names of `forward`. Raises `BadInput`.
    """
    if isinstance(inputs, Mapping):
        arguments = _bound(module, dict(inputs))
    elif isinstance(inputs, (tuple, list)):
        arguments = tuple(inputs)
    else:
        arguments = (inputs,)
    leaves = torch.utils._pytree.tree_leaves(arguments)
    if not any(isinstance(leaf, torch.Tensor) for leaf in leaves):
        kinds = ", ".join(dict.fromkeys(type(leaf).__name__ for leaf in leaves)) or "nothing"
        raise BadInput(f"inputs are a tensor, a tuple of them or a dict of keywords, not {kinds}")
    return arguments


def _bound(module: Any, keywords: dict[str, Any]) -> tuple[Any, ...]:
    if isinstance(module, ExportedProgram):
        raise BadInput("an exported program takes its inputs as a tuple, in their order")
    forward: Callable[..., Any] = module.forward
    try:
        bound = inspect.signature(forward).bind(**keywords)
    except TypeError as error:
        raise BadInput(f"{type(module).__name__} takes other arguments: {error}") from error
    names = bound.signature.parameters
    free = [n for n, p in names.items() if p.kind in (p.KEYWORD_ONLY, p.VAR_KEYWORD)]
    if extra := [name for name in free if name in bound.arguments]:
        raise BadInput(
            f"{type(module).__name__} takes {extra[0]!r} by keyword only: wrap it in a module "
            "whose forward takes tensors one after the other"
        )
    last = max(list(names).index(name) for name in bound.arguments) if keywords else -1
    bound.apply_defaults()
    return tuple(bound.args[: last + 1])


# --------------------------------------------------------------------------------------------------

# ---- What a forward pass keeps in plain attributes: PyTorch puts them back when it exports -------

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


# --------------------------------------------------------------------------------------------------

_CONTAINERS = (dict, list, set, OrderedDict)
_LOUD = ("torch._subclasses.fake_tensor", "torch.fx.experimental.symbolic_shapes")


def trace_module(
    module: torch.nn.Module | ExportedProgram, example_inputs: Any, name: str | None = None
) -> TorchTrace:
    """Export a module in eval mode; an exported program is taken as it is, at the inputs' sizes.

    Raises `ImportFailed` with the exporter's first line, `BadInput` for what is no module, and for
    inputs that an exported program does not take.
    A module on the meta device is traced as an uninitialised one on the CPU, so that the names in
    its trace are those that the real module gives.
    """
    module = checked_module(module)
    label = name or _label(module)
    if isinstance(module, ExportedProgram):
        given = None if example_inputs is None else example(module, example_inputs)
        return read_program(module, label, symbols=symbols_of(module, label, given))
    empty = any(tensor.is_meta for tensor in (*module.parameters(), *module.buffers()))
    module, inputs = _on_cpu(module, example(module, example_inputs))
    with _unchanged(module), _torch_unchanged():
        module.eval()
        try:
            with torch.no_grad(), _quietly():
                program, assigned = exported(module, inputs, _export)
                kept = kept_attributes(module, inputs, _export) if assigned else []
        except Exception as error:  # the exporter raises anything, from UserError to AssertionError
            raise ImportFailed(f"torch.export cannot trace {label}: {_reason(error)}") from error
    if kept:
        raise ImportFailed(
            f"{label} keeps {kept[0]!r} from run to run in an attribute: make it a buffer "
            "(register_buffer), which is state"
        )
    return read_program(program, label, has_values=not empty)


def _export(module: torch.nn.Module, inputs: tuple[Any, ...]) -> ExportedProgram:
    return torch.export.export(module, inputs, strict=False)


def _label(module: torch.nn.Module | ExportedProgram) -> str:
    """A module's class; for a program, the class of its outermost module where it is known."""
    if isinstance(module, torch.nn.Module):
        return type(module).__name__
    stacks = (node.meta.get("nn_module_stack") for node in module.graph.nodes)
    kinds = (next(iter(stack.values()))[1] for stack in stacks if stack)
    return str(next(kinds, "program")).rsplit(".", 1)[-1]


def _reason(error: Exception) -> str:
    """The exporter's first line, in our words where the values of a tensor decide."""
    if isinstance(error, GuardOnDataDependentSymNode):
        frames = traceback.extract_tb(error.__traceback__)
        forwards = [
            f for f in frames if "torch" not in Path(f.filename).parts and f.name == "forward"
        ]
        where = f" in {forwards[-1].line!r:.100}" if forwards and forwards[-1].line else ""
        return f"a size or a branch{where} depends on the values of the input: fix it by shapes"
    return (str(error).strip() or type(error).__name__).splitlines()[0]


@contextlib.contextmanager
def _unchanged(module: torch.nn.Module) -> Iterator[None]:
    """A module as it was afterwards: its mode, and what its forward pass keeps in attributes.

    Dictionaries, lists and sets among them are caches as often as not: what is in them stays too.
    """
    tables: list[Any] = [
        table
        for part in module.modules()
        for table in (part.__dict__, part._buffers, part._parameters, part._modules)
    ]
    kept = [value for table in tables for value in table.values() if type(value) in _CONTAINERS]
    before = [(container, copy.copy(container)) for container in (*tables, *kept)]
    try:
        yield
    finally:
        for container, content in before:
            container.clear()
            (container.extend if isinstance(container, list) else container.update)(content)


@contextlib.contextmanager
def _torch_unchanged() -> Iterator[None]:
    """The process as it was: a forward pass may seed torch, set its defaults, and then fail."""
    hooks = [value for name, value in vars(modules).items() if name.startswith("_global_")]
    tables = [(table, copy.copy(table)) for table in hooks if isinstance(table, OrderedDict)]
    device = torch.get_default_device()
    back: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
        (torch.set_rng_state, (torch.get_rng_state(),)),
        (random.setstate, (random.getstate(),)),
        (np.random.set_state, (np.random.get_state(),)),
        (torch.set_default_dtype, (torch.get_default_dtype(),)),
        (torch.set_deterministic_debug_mode, (torch.get_deterministic_debug_mode(),)),
        (torch.set_float32_matmul_precision, (torch.get_float32_matmul_precision(),)),
        (torch.set_autocast_enabled, ("cpu", torch.is_autocast_enabled("cpu"))),
        (torch.set_autocast_dtype, ("cpu", torch.get_autocast_dtype("cpu"))),
        (torch.set_grad_enabled, (torch.is_grad_enabled(),)),
        (torch.autograd.set_detect_anomaly, (torch.is_anomaly_enabled(),)),
        (torch.set_num_threads, (torch.get_num_threads(),)),
    ]
    try:
        yield
    finally:
        if torch.get_default_device() != device:
            torch.set_default_device(None if device.type == "cpu" else device)
        for put, values in back:
            put(*values)
        for table, content in tables:
            table.clear()
            table.update(content)


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """No warnings, and neither a log nor a printed graph of an exception that is raised."""
    logs = [logging.getLogger(name) for name in _LOUD]
    for log in logs:
        log.addFilter(_nothing)
    try:
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        for log in logs:
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
