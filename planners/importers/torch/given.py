"""What is given as a module and as its inputs: many forms, or one line that says what is wrong."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch.export import ExportedProgram

from planners.core.errors import BadInput


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
