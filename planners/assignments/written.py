"""Programs of whole tensors as a person writes them, a move a line, and back.

`load x 0` brings a tensor to an address, `run f 128` runs an operator whose outputs go to the
addresses that follow, `store y` writes a tensor to its home, `drop y` ends its stay on chip.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from planners.core.errors import BadInput
from planners.core.graph import Graph
from planners.core.machine import Machine
from planners.core.program import (
    Compute,
    Instruction,
    Load,
    Memory,
    Operand,
    Program,
    Region,
    Release,
    Store,
    whole,
)
from planners.core.units import parse_size

MOST_MOVES = 10_000


def program_of_moves(
    graph: Graph, machine: Machine, lines: Sequence[Any], size_bytes: int
) -> Program:
    """The program of moves, over `size_bytes` of the machine's scratchpad.

    Raises `BadInput` with the line that cannot be read, or that moves what is not there.
    """
    if len(lines) > MOST_MOVES:
        raise BadInput(f"{len(lines):,} moves: write {MOST_MOVES:,} at most")
    writer = _Writer(graph, machine)
    for number, line in enumerate(lines, 1):
        try:
            writer.move(str(line).split())
        except BadInput as error:
            raise BadInput(f"move {number} ({str(line)!r:.80}): {error}") from error
    return Program(
        memories=(
            Memory(machine.onchip, size_bytes),
            Memory(machine.offchip, None, offchip=True, addressed=False),
        ),
        instructions=tuple(writer.instructions),
        homes={"input": machine.offchip, "output": machine.offchip},
        steps=tuple(writer.ran) or ("nothing runs",),
    )


class _Writer:
    def __init__(self, graph: Graph, machine: Machine) -> None:
        self.graph, self.machine = graph, machine
        self.at: dict[str, int] = {}
        self.ran: list[str] = []
        self.instructions: list[Instruction] = []
        self.step = 0

    def move(self, words: list[str]) -> None:
        verb, *rest = words or [""]
        if verb == "load" and len(rest) == 2:
            self._load(rest[0], rest[1])
        elif verb == "run" and rest:
            self._run(rest[0], rest[1:])
        elif verb in ("store", "drop") and len(rest) == 1:
            self._leave(verb, rest[0])
        else:
            raise BadInput("write load TENSOR ADDRESS, run OPERATOR ADDRESS, store or drop TENSOR")

    def _load(self, name: str, address: str) -> None:
        self._known(name)
        if name in self.at:
            raise BadInput(f"{name} is on chip already, at {self.at[name]}: drop it first")
        self.at[name] = _address(address)
        piece, region = self._operand(name)
        step = min(len(self.ran), len(self.graph.operators) - 1)
        self.instructions.append(Load(step, piece, self._home(name), region))

    def _run(self, name: str, addresses: list[str]) -> None:
        if name not in self.graph.index:
            raise BadInput(f"there is no operator {name!r:.60}")
        operator = self.graph.operators[self.graph.index[name]]
        if len(addresses) != len(operator.outputs):
            raise BadInput(
                f"{name} makes {', '.join(operator.outputs)}: write {len(operator.outputs)} "
                f"address{'es' * (len(operator.outputs) > 1)} after it"
            )
        if missing := [tensor for tensor in operator.inputs if tensor not in self.at]:
            raise BadInput(f"{name} reads {missing[0]}, which is not on chip")
        if there := [tensor for tensor in operator.outputs if tensor in self.at]:
            raise BadInput(f"{there[0]} is on chip already, at {self.at[there[0]]}")
        reads = tuple(map(self._operand, operator.inputs))
        self.at |= zip(operator.outputs, map(_address, addresses), strict=True)
        writes = tuple(map(self._operand, operator.outputs))
        self.instructions.append(Compute(len(self.ran), name, reads, writes, operator.macs))
        self.ran.append(name)

    def _leave(self, verb: str, name: str) -> None:
        self._known(name)
        if name not in self.at:
            raise BadInput(f"{name} is not on chip")
        piece, region = self._operand(name)
        # After what was just loaded for the next operator, it belongs to that operator's step.
        step = max(len(self.ran) - 1, self.instructions[-1].step)
        if verb == "store":
            self.instructions.append(Store(step, piece, region, self._home(name)))
        else:
            self.instructions.append(Release(step, piece, region))
            del self.at[name]

    def _known(self, name: str) -> None:
        if name not in self.graph.tensors:
            raise BadInput(f"there is no tensor {name!r:.60}")

    def _operand(self, name: str) -> Operand:
        size = self.graph.size_bytes(name)
        region = Region(self.machine.onchip, self.at[name], size)
        return Operand(whole(self.graph.tensors[name]), region)

    def _home(self, name: str) -> Region:
        return Region(self.machine.offchip, None, self.graph.size_bytes(name))


def _address(text: Any) -> int:
    """An address in bytes. Raises `BadInput`."""
    if isinstance(text, bool) or not isinstance(text, int | str):
        raise BadInput(f"{text!r:.60} is not an address: write bytes, or a size such as 4KiB")
    if str(text) == "0":
        return 0
    try:
        return parse_size(str(text))
    except BadInput as error:
        raise BadInput(f"{text!r:.60} is not an address: write bytes, or 4KiB") from error


def moves_of_order(
    graph: Graph, order: Sequence[Any], addresses: Mapping[str, Any] | None = None
) -> list[str]:
    """Moves that run operators in an order and keep each tensor on chip while it is needed.

    Without `addresses` (by tensor, in bytes) each tensor has a place of its own. Raises `BadInput`
    where an operator is missing, comes twice, or a tensor has no address.
    """
    names = [str(name) for name in order]
    if unknown := [name for name in names if name not in graph.index]:
        raise BadInput(f"there is no operator {unknown[0]!r:.60}")
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise BadInput(f"operator {twice[0]} comes twice")
    if missing := [op.name for op in graph.operators if op.name not in names]:
        raise BadInput(f"operator {missing[0]} is missing")
    at = _own_places(graph) if addresses is None else _addresses(graph, addresses)
    operators = [graph.operators[graph.index[name]] for name in names]
    last = {tensor: k for k, op in enumerate(operators) for tensor in (*op.outputs, *op.inputs)}
    there: set[str] = set()
    lines: list[str] = []
    for k, op in enumerate(operators):
        comes = [t for t in op.inputs if t in graph.inputs and t not in there]
        lines += [f"load {tensor} {at[tensor]}" for tensor in comes]
        lines.append(" ".join(["run", op.name, *(str(at[tensor]) for tensor in op.outputs)]))
        lines += [f"store {tensor}" for tensor in op.outputs if tensor in graph.outputs]
        there.update(comes, op.outputs)
        lines += [f"drop {t}" for t in dict.fromkeys((*op.inputs, *op.outputs)) if last[t] == k]
    return lines


def _own_places(graph: Graph) -> dict[str, int]:
    place, at = 0, {}
    for name, tensor in graph.tensors.items():
        if tensor.kind != "parameter":
            at[name] = place
            place += graph.size_bytes(name)
    return at


def _addresses(graph: Graph, given: Mapping[str, Any]) -> dict[str, int]:
    if unknown := [str(name) for name in given if name not in graph.tensors]:
        raise BadInput(f"there is no tensor {unknown[0]!r:.60}")
    wanted = [name for name, tensor in graph.tensors.items() if tensor.kind != "parameter"]
    if missing := [name for name in wanted if name not in given]:
        raise BadInput(f"tensor {missing[0]} has no address")
    return {name: _address(given[name]) for name in wanted}


def moves_of(instructions: Iterable[Instruction]) -> list[str]:
    """A program of whole tensors as moves. Raises `BadInput` where it moves anything else."""
    lines = []
    for item in instructions:
        if isinstance(item, Load):
            lines.append(f"load {item.piece.tensor} {item.target.offset}")
        elif isinstance(item, Compute):
            offsets = (str(write.region.offset) for write in item.writes)
            lines.append(" ".join(["run", item.operator, *offsets]))
        elif isinstance(item, Store | Release):
            verb = "store" if isinstance(item, Store) else "drop"
            lines.append(f"{verb} {item.piece.tensor}")
        else:
            raise BadInput(f"{type(item).__name__} cannot be written as a move")
    return lines
