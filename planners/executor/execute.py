"""Run a program on real numbers, in arenas of exactly its bytes, beside eager PyTorch.

Transfers are byte copies to and from host copies; operators are PyTorch's kernels on views of the
arena. Released bytes are overwritten, so a program that reads them gives a wrong result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, TypeAlias

import torch

from planners.core.access import reduced
from planners.core.boxes import common, filled, within
from planners.core.display import Displayed, Fact
from planners.core.errors import BadInput, InvalidPlan
from planners.core.gc_pause import no_collection
from planners.core.graph import Operator, Tensor
from planners.core.lookups import SUMS_ROWS, rows_of
from planners.core.plan import Plan
from planners.core.program import (
    AddressSpace,
    Box,
    Compute,
    Load,
    Operand,
    Piece,
    Release,
    Store,
    piece_bytes,
    whole,
)
from planners.executor.arena import Arena, ByteFormat, HostCopy, torch_type
from planners.executor.float64 import Float64Errors, Float64Run, tensors_in
from planners.executor.parts import Fetch, add_part, compute_part, finish_sum
from planners.importers.torch.source_model import SourceModel
from planners.importers.torch.trace import checked_module, example
from planners.simulator.check import CheckReport, replay

MANY = 5_000
SMALL_MACS = 1_000_000
"""Of a piece: so few are done before a second thread has begun."""

Made: TypeAlias = tuple[torch.Tensor, Box]
"""A value, and the box of its tensor that it is."""


@dataclass(frozen=True)
class Execution(Displayed):
    """The outputs of a program and how they compare with eager PyTorch's.

    Of a plan for a `.tflite` file it is the file itself, run in whole tensors by the same kernels,
    that stands in eager PyTorch's place: `beside` says so.

    `state` holds the new values of what the module keeps, by their paths in it; they are compared
    as outputs are. The module itself ran once, and keeps what its own run gave. `float64` says how
    far the plan and eager PyTorch are from a run in float64, where that was wanted.

    `arena_bytes` were really allocated for the on-chip memories: the program's sizes, scaled to
    four bytes an element unless it counts each type as it is. `bit_exact`: every output
    equals eager's in every bit.
    """

    outputs: Any
    reference: Any
    max_abs_error: float
    bit_exact: bool
    arena_bytes: int
    compute_steps: int
    state: Mapping[str, torch.Tensor] = field(default_factory=dict)
    float64: Float64Errors | None = None
    beside: str = "eager PyTorch"

    def facts(self) -> list[Fact]:
        same = f"equal to {self.beside}'s in every bit" if self.bit_exact else "not in every bit"
        return [
            ("Execution", "in an arena of the plan's bytes"),
            ("outputs", same),
            ("largest error", f"{self.max_abs_error:.3g}"),
            ("arena", f"{self.arena_bytes:,} bytes"),
            ("computes", f"{self.compute_steps:,}"),
        ]


@no_collection()
def execute(
    plan: Plan, module: torch.nn.Module, inputs: Any, *, float64: bool = False
) -> Execution:
    """Run a plan's program, then the module itself, on the same inputs, which stay as they are.

    With `float64` a copy of the module runs in that type too, and both are compared with it.

    Raises `InvalidPlan` for a program that is not right (it is replayed first) and `BadInput`
    where the module is not the one that the graph was made from.
    """
    report = replay(plan.graph, plan.program)
    module = checked_module(module)
    inputs = example(module, inputs)
    model = SourceModel(module, inputs)
    if isinstance(module, torch.export.ExportedProgram):
        module = module.module()
    with torch.no_grad(), frozen(module), torch_threads(_threads(report)):
        runner = ProgramRunner(plan, model, inputs)
        for item in plan.program.instructions:
            runner.run(item)
        outputs = runner.outputs()
        state = runner.state()
        exact = Float64Run(module, inputs, state, eager) if float64 else None
        reference = eager(module, torch.utils._pytree.tree_map_only(torch.Tensor, _copy, inputs))
        kept = {path: attrgetter(path)(module) for path in state}
    computed, expected = tensors_in([outputs, state]), tensors_in([reference, kept])
    pairs = list(zip(computed, expected, strict=True))
    return Execution(
        outputs=outputs,
        reference=reference,
        **differences(pairs),
        arena_bytes=runner.arena.size_bytes,
        compute_steps=runner.computed,
        state=state,
        float64=exact.errors(computed, expected) if exact else None,
    )


def differences(pairs: Sequence[tuple[torch.Tensor, torch.Tensor]]) -> dict[str, Any]:
    """The fields of an `Execution` that say how far what was found is from what was expected."""
    return {
        "max_abs_error": max((largest_error(a, b) for a, b in pairs), default=0.0),
        "bit_exact": all(torch.equal(a, b) for a, b in pairs),
    }


def _copy(value: torch.Tensor) -> torch.Tensor:
    return value.clone()


def _threads(report: CheckReport) -> int | None:
    """One thread for programs of many or of small pieces: more would wait longer than they work."""
    few = report.macs < SMALL_MACS * report.instructions
    return 1 if report.instructions > MANY or few else None


@contextmanager
def torch_threads(count: int | None) -> Iterator[None]:
    """PyTorch with that many threads for a kernel; None leaves them."""
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(count or before)
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def frozen(module: torch.nn.Module) -> Iterator[None]:
    """The module in evaluation mode and without gradients, and as it was afterwards.

    Some kernels are chosen by whether a weight requires a gradient, even where none is computed.
    """
    wanted = [p for p in module.parameters() if p.requires_grad]
    training = [m for m in module.modules() if m.training]
    try:
        for parameter in wanted:
            parameter.requires_grad_(False)
        with suppress(NotImplementedError):  # exported programs are in the mode they were in
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


class ProgramRunner:
    """The arena, the host copies and the model while a program runs."""

    def __init__(self, plan: Plan, model: SourceModel, inputs: Sequence[Any]) -> None:
        self.graph, self.program, self.model = plan.graph, plan.program, model
        spaces = AddressSpace(plan.program.memories)
        self.form = ByteFormat.for_graph(plan.graph)
        self.arena = Arena(spaces, self.form)
        self.memories = spaces.memories
        self.operators = {op.name: op for op in plan.graph.operators}
        self.whole = {name: whole(t) for name, t in plan.graph.tensors.items()}
        self.home: dict[tuple[str, str], HostCopy] = {}
        self.summed: dict[tuple[str, Piece], int] = {}
        self.computed = 0
        self._fill_homes(inputs)

    def _fill_homes(self, inputs: Sequence[Any]) -> None:
        values = self.model.input_values(inputs)
        for name, tensor in self.graph.tensors.items():
            if (memory := self.program.home(tensor)) is None:
                continue
            if tensor.kind == "input":
                value = values.get(name)
            else:
                whole_weight = not tensor.table
                value = self.model.parameter(name) if whole_weight else self._rows(tensor, values)
            if value is None or tuple(value.shape) != tensor.shape:
                raise BadInput(f"the model has no {tensor.kind} {name!r} of shape {tensor.shape}")
            self.home[memory, name] = HostCopy.from_tensor(value, self.form)

    def _rows(self, tensor: Tensor, values: Mapping[str, Any]) -> torch.Tensor:
        """The rows of a table that its operator looks up by what the network is given.

        Where indices are computed only then, it is read where it lies: zeros stand for it.
        """
        rows = torch.zeros(tensor.shape, dtype=torch_type(tensor))
        (op,) = (op for op in self.graph.operators if tensor.name in op.parameters)
        if set(op.inputs) - values.keys():
            return rows
        inputs = {**values, tensor.table: self.model.parameter(tensor.table)}
        results = inputs | self.model.evaluate([part.name for part in op.parts], inputs)
        return self._picked(op, tensor, results).reshape(tensor.shape)

    def _picked(self, op: Operator, tensor: Tensor, results: Mapping[str, Any]) -> torch.Tensor:
        """What an operator looks up of a table, by the values of its calls, one after the other.

        Raises `InvalidPlan` where that is not as much as the plan says.
        """
        table = self.model.parameter(tensor.table)
        looked_up = [
            table[results[part.reads[1]]] if part.kind in SUMS_ROWS else results[part.name]
            for part in rows_of(op, tensor.name)
        ]
        count = sum(part.numel() for part in looked_up)
        same_table = tensor.name in (tensor.table, f"{tensor.table} of {op.name}")
        if count != tensor.elements or not same_table:
            raise InvalidPlan(
                f"{op.name} looks up {count} elements of {tensor.table}, not the "
                f"{tensor.elements} of {tensor.name}",
                kind="shape",
            )
        return torch.cat([part.reshape(-1) for part in looked_up])

    def _looked_up(self, name: str, operands: Sequence[Operand]) -> torch.Tensor:
        """A table, of which the rows that are looked up are those that were brought."""
        for operand in operands:
            if self.memories[operand.region.memory].addressed:
                memory = self.program.home(self.graph.tensors[name])
                right = self.home[str(memory), name].box(self.whole[name])
                if not torch.equal(self._assembled(name, operands, self.whole[name].box), right):
                    raise InvalidPlan(f"{name} has other rows than are looked up", kind="value")
        return self.model.parameter(self.graph.tensors[name].table)

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
            self.arena.write(target, copy.box(item.piece).to(copy.dtype), whole=False)

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
            tensor = self.graph.tensors[name]
            self.home[key] = HostCopy(tensor.shape, self.form, self.form.own(tensor))
        return self.home[key]

    def _compute(self, item: Compute) -> None:
        """Run the operator's calls on what it reads, and keep the boxes that it writes."""
        op = self.operators[item.operator]
        if item.sums is not None:
            return self._add(op, item, item.sums)
        results = self._part(op, item) or self._everything(op, item)
        if item.frees:  # What was made may be a view of what goes.
            results = {name: (value.clone(), box) for name, (value, box) in results.items()}
        for at in item.frees:
            self.arena.poison(item.reads[at].region)
        for operand, piece in zip(item.writes, item.made, strict=True):
            self._write(op, operand, piece, results)
        self.computed += 1

    def _part(self, op: Operator, item: Compute) -> dict[str, Made] | None:
        """The part that is written, from what it needs; None where that cannot be done apart."""
        written = item.made
        if not written or {piece.tensor for piece in written} != {op.outputs[0]}:
            return None
        box = filled([piece.box for piece in written])
        if box is None or box == self.whole[op.outputs[0]].box:
            return None
        if any(self.graph.tensors[name].table for name in op.parameters):
            return None

        value = compute_part(self.model, self.graph, op, box, self._fetch(op, item))
        return None if value is None else {op.outputs[0]: (value, box)}

    def _fetch(self, op: Operator, item: Compute) -> Fetch:
        """Boxes of operands from what the instruction reads."""
        reads = _by_tensor(item.reads)

        def fetch(name: str, wanted: Box) -> torch.Tensor:
            if name in op.parameters and name not in reads:  # not counted by this program
                return self.model.parameter(name)[within(wanted, self.whole[name].box)]
            return self._assembled(name, reads.get(name, []), wanted)

        return fetch

    def _add(self, op: Operator, item: Compute, sums: tuple[int, int]) -> None:
        """Add the products of these channels to what is written, and finish what is complete."""
        fetch, completed = self._fetch(op, item), []
        for operand in item.writes:
            box, key = operand.piece.box, self.arena.key(operand)
            value = self._products(op, box, sums, fetch)
            before = self.summed.pop(key, 0)
            wide = self.form.sums(self.graph, op)
            dtype, value = value.dtype, value if wide is None else value.to(wide)
            if before:
                value = value + self.arena.read(operand)
            if before + sums[1] - sums[0] < (reduced(self.graph, op) or 0):
                self.summed[key] = before + sums[1] - sums[0]
            else:  # It takes its own bytes, the first of those that it had.
                value = self._finished(op, box, value.to(dtype), fetch)
                self.arena.poison(operand.region)
                size = piece_bytes(self.graph, operand.piece)
                operand = Operand(operand.piece, operand.region._replace(size_bytes=size))
            completed.append((operand, value))
        for at in item.frees:
            self.arena.poison(item.reads[at].region)
        for operand, value in completed:
            full = operand.piece == self.whole[operand.piece.tensor]
            self.arena.write(operand, value, whole=full)
        self.computed += 1

    def _products(
        self, op: Operator, box: Box, sums: tuple[int, int], fetch: Fetch
    ) -> torch.Tensor:
        return add_part(self.model, self.graph, op, box, sums, fetch)

    def _finished(self, op: Operator, box: Box, total: torch.Tensor, fetch: Fetch) -> torch.Tensor:
        return finish_sum(self.model, self.graph, op, box, total, fetch)

    def _everything(self, op: Operator, item: Compute) -> dict[str, Made]:
        """The whole operator, on zeros wherever nothing is read."""
        given = {}
        for name, operands in _by_tensor(item.reads).items():
            if table := self.graph.tensors[name].table:
                given[table] = self._looked_up(name, operands)
                continue
            given[name] = self._assembled(name, operands, self.whole[name].box)
        for name in op.inputs:
            if name not in given:
                tensor = self.graph.tensors[name]
                given[name] = torch.zeros(tensor.shape, dtype=torch_type(tensor))
        results = self.model.evaluate([part.name for part in op.parts], given)
        for name in op.parameters:
            if self.graph.tensors[name].table:
                self._picked(op, self.graph.tensors[name], given | results)
        return {n: (v, self.whole[n].box) for n, v in results.items() if n in self.whole}

    def _write(
        self, op: Operator, operand: Operand, piece: Piece, results: dict[str, Made]
    ) -> None:
        """Keep a piece, or the part of it that was made."""
        if piece.tensor not in results or tuple(results[piece.tensor][0].shape) != _shape(
            results[piece.tensor][1]
        ):
            raise InvalidPlan(f"{op.name} made no {piece.tensor} of its shape", kind="shape")
        value, box = results[piece.tensor]
        full = piece == self.whole[piece.tensor]
        value = value if full else value[within(piece.box, box)]
        if piece == operand.piece:
            self.arena.write(operand, value, whole=full)
        else:
            self.arena.write_part(operand, piece.box, value)

    def _assembled(self, name: str, pieces: Sequence[Operand], box: Box) -> torch.Tensor:
        """A box of a tensor: a whole one as it lies; parts together, zeros around them."""
        for operand in pieces:
            if operand.piece.box == box:
                return self._value(operand)
        parts = [(operand, common(operand.piece.box, box)) for operand in pieces]
        values = [(self._value(o)[within(part, o.piece.box)], part) for o, part in parts if part]
        dtype = values[0][0].dtype if values else torch_type(self.graph.tensors[name])
        assembled = torch.zeros(_shape(box), dtype=dtype)
        for value, part in values:
            assembled[within(part, box)] = value
        return assembled

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

    def state(self) -> dict[str, torch.Tensor]:
        """The new values of what the module keeps, by path, from what the program left at home."""
        memory = self.program.homes["output"]
        return {
            path: self.home[memory, self.graph.state[name]].value()
            for name, path in self.model.owners.items()
        }


def _by_tensor(operands: Sequence[Operand]) -> dict[str, list[Operand]]:
    groups: dict[str, list[Operand]] = {}
    for operand in operands:
        groups.setdefault(operand.piece.tensor, []).append(operand)
    return groups


def _shape(box: Box) -> tuple[int, ...]:
    return tuple(stop - start for start, stop in box)


def largest_error(a: torch.Tensor, b: torch.Tensor) -> float:
    """The largest difference; equal infinities and equal NaNs do not differ."""
    if a.shape != b.shape:
        return float("inf")
    same = (a == b) | (a.isnan() & b.isnan())
    wide = torch.complex128 if a.is_complex() else torch.float64
    difference = torch.where(same, torch.zeros(()), (a.to(wide) - b.to(wide)).abs().float())
    return float(difference.nan_to_num(nan=float("inf")).max()) if a.numel() else 0.0
