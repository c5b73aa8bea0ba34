"""How the calls of a trace are run: targets and arguments with references in place of values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from planners.importers.passes import CallTrace


@dataclass(frozen=True, slots=True)
class Ref:
    """Stands for a value of the trace among a call's arguments."""

    name: str


@dataclass(frozen=True, slots=True)
class CallStep:
    """How to run a call: `target(*args, **kwargs)` with every `Ref` replaced by its value."""

    target: Any
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WriteThrough:
    """A write into a view of a tensor as a function: the whole tensor as it is afterwards."""

    views: tuple[CallStep, ...]
    target: Any

    def __call__(self, whole: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        whole = whole.clone()
        part = whole
        for view in self.views:
            part = view.target(part, *view.args[1:], **view.kwargs)
        self.target(part, *args, **kwargs)
        return whole


@dataclass(frozen=True)
class TorchTrace:
    """A trace with the means to run it: steps by call name, tensors by parameter name.

    `returns` are the leaves of what the model returns, a `Ref` for each value of the trace.
    `owners` say which of the module's tensors each `state` of the trace is, by its path.
    """

    trace: CallTrace
    steps: Mapping[str, CallStep]
    parameters: Mapping[str, torch.Tensor]
    returns: tuple[Any, ...]
    out_spec: Any
    owners: Mapping[str, str]


def fill(item: Any, value: Callable[[str], Any]) -> Any:
    """The same structure with every `Ref` replaced by the value of its name."""
    if isinstance(item, Ref):
        return value(item.name)
    if isinstance(item, dict):
        return {key: fill(part, value) for key, part in item.items()}
    if isinstance(item, (list, tuple)):
        return [fill(part, value) for part in item]
    return item


def refs(item: Any) -> list[str]:
    """The names of all values that an argument refers to."""
    if isinstance(item, Ref):
        return [item.name]
    if isinstance(item, dict):
        item = item.values()
    elif not isinstance(item, (list, tuple)):
        return []
    return [name for part in item for name in refs(part)]
