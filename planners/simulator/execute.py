"""Run a program on real numbers, in arenas of exactly its bytes, beside eager PyTorch.

Transfers are byte copies to and from host copies; operators are PyTorch's kernels on views of the
arena. Released bytes are spoilt, so a program that reads what it should not gives a wrong result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from planners.errors import BadInput, InvalidPlan
from planners.graph.importers.source_model import SourceModel
from planners.graph.model import Operator
from planners.plan import Plan
from planners.program import AddressSpace, Compute, Load, Operand, Release, Store, whole
from planners.simulator.arena import Arena, HostCopy
from planners.simulator.check import replay


@dataclass(frozen=True)
class Execution:
    """The outputs of a program and how they compare with eager PyTorch's.

    `arena_bytes` were really allocated for the on-chip memories: the program's sizes, scaled to
    four bytes an element. `bit_exact`: every output equals eager's in every bit.
    """

    outputs: Any
    reference: Any
    max_abs_error: float
    bit_exact: bool
    arena_bytes: int
    compute_steps: int


def execute(plan: Plan, module: torch.nn.Module, inputs: Sequence[Any]) -> Execution:
    """Run a plan's program, then the module itself, on the same inputs.

    Raises `InvalidPlan` for a program that is not right (it is replayed first) and `BadInput`
    where the module is not the one that the graph was made from.
    """
    replay(plan.graph, plan.program)
    inputs = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    with torch.no_grad(), frozen(module):
        runner = Runner(plan, SourceModel(module, inputs), inputs)
        for item in plan.program.instructions:
            runner.run(item)
        outputs = runner.outputs()
        reference = eager(module, inputs)
    pairs = list(zip(_leaves(outputs), _leaves(reference), strict=True))
    return Execution(
        outputs=outputs,
        reference=reference,
        max_abs_error=max((_error(a, b) for a, b in pairs), default=0.0),
        bit_exact=all(torch.equal(a, b) for a, b in pairs),
        arena_bytes=runner.arena.size_bytes,
        compute_steps=runner.computed,
    )


@contextmanager
def frozen(module: torch.nn.Module) -> Iterator[None]:
    """The module in evaluation mode and without gradients, and as it was afterwards.

    Some kernels are chosen by whether a weight wants a gradient, even where none is computed.
    """
    wanted = [p for p in module.parameters() if p.requires_grad]
    training = [m for m in module.modules() if m.training]
    try:
        for parameter in wanted:
            parameter.requires_grad_(False)
        module.eval()
        yield
    finally:
        for parameter in wanted:
            parameter.requires_grad_(True)
        for part in training:
            part.training = True


def eager(module: torch.nn.Module, inputs: Sequence[Any]) -> Any:
    """The module's own result, without the fused attention path that exporting cannot see."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        return module(*inputs)
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


class Runner:
    """The arena, the host copies and the model while a program runs."""

    def __init__(self, plan: Plan, model: SourceModel, inputs: Sequence[Any]) -> None:
        self.graph, self.program, self.model = plan.graph, plan.program, model
        spaces = AddressSpace(plan.program.memories)
        self.arena = Arena(spaces, plan.graph.bytes_per_element)
        self.memories = spaces.memories
        self.operators = {op.name: op for op in plan.graph.operators}
        self.whole = {name: whole(t) for name, t in plan.graph.tensors.items()}
        self.home: dict[tuple[str, str], HostCopy] = {}
        self.computed = 0
        self._fill_homes(inputs)

    def _fill_homes(self, inputs: Sequence[Any]) -> None:
        values = self.model.input_values(inputs)
        for name, tensor in self.graph.tensors.items():
            memory = self.program.homes.get(tensor.kind)
            if memory is None or tensor.kind == "activation":
                continue
            value = values.get(name) if tensor.kind == "input" else self.model.parameter(name)
            if value is None or tuple(value.shape) != tensor.shape:
                raise BadInput(f"the model has no {tensor.kind} {name!r} of shape {tensor.shape}")
            self.home[memory, name] = HostCopy.of(value)

    def run(self, item: Any) -> None:
        """Run one instruction."""
        match item:
            case Load() | Store():
                self._transfer(item)
            case Compute():
                self._compute(item)
            case Release():
                self.arena.poison(item.region)

    def _transfer(self, item: Load | Store) -> None:
        source, target = Operand(item.piece, item.source), Operand(item.piece, item.target)
        if self.memories[item.source.memory].addressed:
            if self.memories[item.target.memory].addressed:
                layout = self.arena.layout_of(source)
                self.arena.copy_in(target, self.arena.read_bytes(item.source), *layout)
            else:
                self._store(source, item.target.memory)
            return
        copy = self.home[item.source.memory, item.piece.tensor]
        if not self.memories[item.target.memory].addressed:
            other = self._home(item.target.memory, item.piece.tensor)
            other.take(copy, item.piece)
            return
        if item.piece == self.whole[item.piece.tensor]:
            self.arena.copy_in(target, copy.bytes, copy.dtype, copy.strides)
        else:
            self.arena.write(target, copy.box(item.piece), whole=False)

    def _store(self, source: Operand, memory: str) -> None:
        name = source.piece.tensor
        copy = self._home(memory, name)
        dtype, strides = self.arena.layout_of(source)
        copy.dtype = dtype
        if source.piece == self.whole[name]:
            copy.strides = strides
            copy.bytes.copy_(self.arena.read_bytes(source.region))
        else:
            copy.box(source.piece).copy_(self.arena.read(source))

    def _home(self, memory: str, name: str) -> HostCopy:
        key = (memory, name)
        if key not in self.home:
            self.home[key] = HostCopy(self.graph.tensors[name].shape)
        return self.home[key]

    def _compute(self, item: Compute) -> None:
        """Run the operator's calls on what it reads, and keep the boxes that it writes."""
        op = self.operators[item.operator]
        known = self._gather(item.reads)
        results = self.model.evaluate([part.name for part in op.parts], known)
        if item.frees:  # What was made may be a view of what goes.
            results = {name: value.clone() for name, value in results.items()}
        for at in item.frees:
            self.arena.poison(item.reads[at].region)
        for operand in item.writes:
            self._write(op, operand, results)
        self.computed += 1

    def _write(self, op: Operator, operand: Operand, results: dict[str, torch.Tensor]) -> None:
        piece = operand.piece
        made = results.get(piece.tensor)
        if made is None or tuple(made.shape) != self.graph.tensors[piece.tensor].shape:
            raise InvalidPlan(f"{op.name} made no {piece.tensor} of its shape", kind="shape")
        full = piece == self.whole[piece.tensor]
        box = tuple(slice(start, stop) for start, stop in piece.box)
        value = made if full else made[box]
        self.arena.write(operand, value, whole=full)

    def _gather(self, reads: Sequence[Operand]) -> dict[str, torch.Tensor]:
        """The operands by tensor: a whole one as it lies; parts together, zeros around them."""
        known: dict[str, torch.Tensor] = {}
        for operand in reads:
            name = operand.piece.tensor
            value = self._value(operand)
            if operand.piece == self.whole[name]:
                known[name] = value
                continue
            if name not in known:
                known[name] = torch.zeros(self.graph.tensors[name].shape, dtype=value.dtype)
            known[name][tuple(slice(start, stop) for start, stop in operand.piece.box)] = value
        return known

    def _value(self, operand: Operand) -> torch.Tensor:
        memory = operand.region.memory
        if self.memories[memory].addressed:
            return self.arena.read(operand)
        copy = self.home[memory, operand.piece.tensor]
        full = operand.piece == self.whole[operand.piece.tensor]
        return copy.value() if full else copy.box(operand.piece).to(copy.dtype)

    def outputs(self) -> Any:
        """The model's outputs from what the program left at home."""
        memory = self.program.homes["output"]
        return self.model.outputs(
            {name: self.home[memory, name].value() for name in self.graph.outputs}
        )


def _leaves(tree: Any) -> list[torch.Tensor]:
    leaves = torch.utils._pytree.tree_leaves(tree)
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


def _error(a: torch.Tensor, b: torch.Tensor) -> float:
    """The largest difference; equal infinities and equal NaNs do not differ."""
    if a.shape != b.shape:
        return float("inf")
    same = (a == b) | (a.isnan() & b.isnan())
    difference = torch.where(same, torch.zeros(()), (a.double() - b.double()).abs().float())
    return float(difference.nan_to_num(nan=float("inf")).max()) if a.numel() else 0.0
