"""What a module multiplies and reads when PyTorch runs it: no part of ours has a say in it."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode, is_traceable_wrapper_subclass
from torch.utils.flop_counter import flop_registry

_leaves = torch.utils._pytree.tree_leaves


_VECTORS = {torch.ops.aten.mv, torch.ops.aten.dot, torch.ops.aten.addmv}
"""Products that `flop_counter` leaves out: as many MACs as the larger operand has elements."""


class MacCounter(TorchDispatchMode):
    """MACs by `torch.utils.flop_counter`'s formulas, and the parameters that were read.

    `macs` are all, by operator; `of_weights` those among them that weights alone decide. Memory is
    followed by its storage: views and writes carry what they hold along.
    """

    def __init__(self, module: torch.nn.Module, inputs: Any) -> None:
        super().__init__()
        self.macs: Counter[str] = Counter()
        self.of_weights = 0
        self.read: set[int] = set()
        self.parameters = {_place(p): p for p in held_parameters(module).values()}
        self._reached = {_place(t): t for t in _tensors(inputs)}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if any(is_traceable_wrapper_subclass(t) for t in _tensors((args, kwargs))):
            return NotImplemented  # what it does with the tensors that it holds comes here next
        packet = func._overloadpacket
        if packet not in flop_registry and func is not torch.ops.prim.device.default:
            with self:
                found = func.decompose(*args, **kwargs)
            if found is not NotImplemented:
                return found
        found = func(*args, **kwargs)
        operands = list(_tensors((args, kwargs)))
        places = [_place(t) for t in operands]
        self.read |= set(places) & self.parameters.keys()
        reached = not self._reached.keys().isdisjoint(places)
        if reached:
            written = [*_tensors(found), *(operands[:1] if func._schema.is_mutable else ())]
            self._reached |= {_place(t): t for t in written}
        self._count(packet, args, kwargs, found, reached)
        return found

    def forget(self) -> None:
        """Let go of the run's values."""
        self._reached.clear()

    def _count(self, packet: Any, args: Any, kwargs: Any, found: Any, reached: bool) -> None:
        if packet in flop_registry:
            flops = flop_registry[packet](*args, **kwargs, out_val=found)
        elif packet is torch.ops.aten._int_mm:
            flops = 2 * args[0].numel() * args[1].shape[-1]
        elif packet in _VECTORS:
            flops = 2 * max(t.numel() for t in _tensors(args))
        else:
            return
        self.macs[packet.__name__] += flops // 2
        self.of_weights += 0 if reached else flops // 2


def held_parameters(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """A module's parameters by name; one of several tensors by theirs, as `weight.scale`."""
    found: dict[str, torch.Tensor] = {}
    stack = list(module.named_parameters(remove_duplicate=False))
    while stack:
        name, value = stack.pop()
        if is_traceable_wrapper_subclass(value):
            inner = value.__tensor_flatten__()[0]
            stack += [(f"{name}.{attribute}", getattr(value, attribute)) for attribute in inner]
        else:
            found[name] = value
    return found


def counted(module: torch.nn.Module, inputs: Any) -> MacCounter:
    """What a run of a module multiplied and read.

    Attention and recurrent layers are run in their plain forms, whose products are seen.
    """
    torch.backends.mha.set_fastpath_enabled(False)
    counter = MacCounter(module, inputs)
    with (
        warnings.catch_warnings(action="ignore"),
        torch.no_grad(),
        torch.backends.mkldnn.flags(enabled=False),
        torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH),
        counter,
    ):
        module(*inputs)
    counter.forget()
    return counter


def _tensors(values: Any) -> Iterable[torch.Tensor]:
    return (leaf for leaf in _leaves(values) if isinstance(leaf, torch.Tensor))


def _place(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage()._cdata
