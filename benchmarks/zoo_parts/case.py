"""One network of the zoo: a module with its inputs, or a file."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch


@dataclass(frozen=True)
class Case:
    """A network to be read: `module` and `inputs`, or `path` and what shapes it leaves open."""

    module: Any = None
    inputs: tuple[Any, ...] = ()
    path: Path | None = None
    input_shape: Sequence[Sequence[int]] | None = None


@dataclass(frozen=True)
class Family:
    """Networks of one origin: their names, which packages they need, and how one is made."""

    name: str
    packages: tuple[str, ...]
    names: Callable[[], Sequence[str]]
    make: Callable[[str], Case]
    prepare: Callable[[], None] = lambda: None


def image(side: int, channels: int = 3) -> torch.Tensor:
    """One image of random numbers."""
    return torch.randn(1, channels, side, side)


def tokens(*shape: int, below: int = 256) -> torch.Tensor:
    """Numbers of words."""
    return torch.randint(1, below, shape)


class Keywords(torch.nn.Module):
    """A module whose forward takes keywords, as one that takes tensors and returns a list."""

    def __init__(self, module: torch.nn.Module, names: Sequence[str], **fixed: Any) -> None:
        super().__init__()
        self.module, self.names, self.fixed = module, tuple(names), fixed

    def forward(self, *tensors: torch.Tensor) -> list[torch.Tensor]:
        """The module's tensors, in their order."""
        found = self.module(**dict(zip(self.names, tensors, strict=True)), **self.fixed)
        leaves = torch.utils._pytree.tree_leaves(found)
        return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


def keyworded(module: torch.nn.Module, fixed: dict[str, Any], **tensors: torch.Tensor) -> Case:
    """A case of a module that takes these tensors by name, and what else its forward has."""
    taken = inspect.signature(module.forward).parameters
    known = {name: value for name, value in fixed.items() if name in taken}
    return Case(Keywords(module.eval(), list(tensors), **known), tuple(tensors.values()))
