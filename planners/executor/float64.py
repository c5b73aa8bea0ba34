"""How far from exact: a plan's numbers and eager float32's own, both beside a run in float64."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode


@dataclass(frozen=True, slots=True)
class Float64Errors:
    """Largest differences from the module's run in float64, each relative to its tensor's size.

    The size of a tensor is its largest absolute value. `plan` is of what the plan computed,
    `eager` of what plain PyTorch did, in float32 both; None, and `why_not`, where the module does
    not run in float64.
    """

    plan: float | None = None
    eager: float | None = None
    why_not: str = ""


class Float64Run:
    """What a module gives, and keeps, when all of it runs in float64; it stays as it is.

    `run` calls the module; `kept` are the paths of what it keeps from run to run.
    """

    def __init__(
        self,
        module: torch.nn.Module,
        inputs: Sequence[Any],
        kept: Iterable[str],
        run: Callable[[torch.nn.Module, Sequence[Any]], Any],
    ) -> None:
        self.why_not, self.leaves = "", list[torch.Tensor]()
        wide = torch.utils._pytree.tree_map_only(torch.Tensor, _wide, inputs)
        narrow = _Narrow()
        try:
            double = copy.deepcopy(module).double()
            with narrow, _default_float64():
                outputs = run(double, wide)
            values = {path: attrgetter(path)(double) for path in kept}
        except Exception as error:  # a module raises anything where types do not meet
            line = (str(error).strip() or type(error).__name__).splitlines()[0]
            self.why_not = f"the module does not run in float64: {line:.200}"
            return
        if narrow.call:
            self.why_not = f"the module computes {narrow.call} in another type than float64"
            return
        self.leaves = tensors_in([outputs, values])

    def errors(self, plan: Sequence[torch.Tensor], eager: Sequence[torch.Tensor]) -> Float64Errors:
        """Of the same tensors as a plan and plain PyTorch computed them."""
        if self.why_not:
            return Float64Errors(why_not=self.why_not)
        return Float64Errors(_largest(plan, self.leaves), _largest(eager, self.leaves))


def tensors_in(tree: Any) -> list[torch.Tensor]:
    """The tensors of a structure, in order."""
    leaves = torch.utils._pytree.tree_leaves(tree)
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


class _Narrow(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes the first call that gives floating-point numbers of another type than float64."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.call = ""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for value in tensors_in(result):
            if value.is_floating_point() and value.dtype != torch.float64 and not self.call:
                self.call = func.__name__.split(".")[0]
        return result


@contextmanager
def _default_float64() -> Iterator[None]:
    """Tensors that name no type are made in float64."""
    before = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float64)
        yield
    finally:
        torch.set_default_dtype(before)


def _wide(value: torch.Tensor) -> torch.Tensor:
    return value.double() if value.is_floating_point() else value.clone()


def _largest(values: Sequence[torch.Tensor], exact: Sequence[torch.Tensor]) -> float:
    """Over all tensors of floating-point numbers; equal infinities and NaNs do not differ."""
    errors = [0.0]
    for ours, theirs in zip(values, exact, strict=True):
        if not ours.is_floating_point() or not ours.numel():
            continue
        ours = ours.double()
        same = (ours == theirs) | (ours.isnan() & theirs.isnan())
        gap = torch.where(same, 0.0, (ours - theirs).abs()).nan_to_num(nan=float("inf")).max()
        size = theirs.abs().nan_to_num(nan=0.0, posinf=0.0).max()
        errors.append(float(gap / size) if gap else 0.0)
    return max(errors)
