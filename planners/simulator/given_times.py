"""How long instructions take where a problem gives the times of layers: from its rows alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from planners.core.errors import BadInput
from planners.core.graph import Graph
from planners.core.program import AddressSpace, Box, Compute, Load, Piece, Program, Store
from planners.core.times import GivenTimes, LayerTime


@dataclass(frozen=True, slots=True)
class _Use:
    """A row, and the bytes of parameters that the compute which it is for reads."""

    row: LayerTime
    size_bytes: int


def seconds_of(program: Program, graph: Graph, times: GivenTimes) -> list[float | None]:
    """Seconds of each instruction, by position; None where it has no row.

    A compute takes its row's time. Of parameters, each piece that comes from off chip takes its
    share by bytes of the time to read the layer that it is for, and each that comes from a ring
    its share of the time to copy it; joined loads take theirs together. The network's inputs and
    outputs take none, once each. Raises `BadInput` for rows that are not the graph's, and for a
    compute without a row.
    """
    times.require(graph)
    return list(_Rows(program, graph, times).seconds())


class _Rows:
    def __init__(self, program: Program, graph: Graph, times: GivenTimes) -> None:
        self.program, self.graph, self.times = program, graph, times
        self.spaces = AddressSpace(program.memories)
        self.rows = {(row.operator, row.part): row for row in times.rows}
        self.uses: dict[Piece, list[_Use]] = defaultdict(list)
        for item in program.instructions:
            if isinstance(item, Compute):
                self._note(item)
        self.served: dict[tuple[Piece, bool], int] = defaultdict(int)
        self.moved: set[tuple[type, Piece]] = set()

    def _note(self, item: Compute) -> None:
        """Which row a compute's parameters are for."""
        kinds = self.graph.tensors
        read = [o for o in item.reads if kinds[o.piece.tensor].kind == "parameter"]
        use = _Use(self._row(item), sum(operand.region.size_bytes for operand in read))
        for operand in read:
            self.uses[operand.piece].append(use)

    def _row(self, item: Compute) -> LayerTime:
        part: Box | None = item.parts[0] if item.parts else None
        row = None if item.sums else self.rows.get((item.operator, part))
        if row is None:
            what = f"operator {item.operator!r:.60}"
            what = f"a part of {what}" if item.sums or item.parts else f"all of {what}"
            raise BadInput(f"times: {self.times.source} has no row for {what}")
        return row

    def seconds(self) -> Iterator[float | None]:
        transfer: list[Load | Store] = []
        for item in self.program.instructions:
            if transfer and not (isinstance(item, Load) and item.joined):
                yield from self._moved(transfer)
                transfer = []
            match item:
                case Load() | Store():
                    transfer.append(item)
                case Compute():
                    yield self._row(item).kernel_s
                case _:
                    yield None
        yield from self._moved(transfer)

    def _moved(self, items: Sequence[Load | Store]) -> Iterator[float | None]:
        """Those that are joined and for one layer take their time with the first of them."""
        shares: dict[int, tuple[_Use, bool, int]] = {}
        first: dict[int, int] = {}
        taken: list[float | None] = []
        for at, item in enumerate(items):
            copied = not self.spaces.root(item.source.memory).offchip
            use = self._use(item, copied)
            if use is None:
                taken.append(self._boundary(item))
                continue
            key = id(use)
            size = shares[key][2] if key in shares else 0
            shares[key] = use, copied, size + item.source.size_bytes
            first.setdefault(key, at)
            taken.append(0.0)
        for key, (use, copied, size) in shares.items():
            whole = use.row.copy_s if copied else use.row.read_s
            taken[first[key]] = whole * (size / use.size_bytes)
        yield from taken

    def _use(self, item: Load | Store, copied: bool) -> _Use | None:
        """The layer that a load of a parameter is for: the first that no earlier one was for."""
        uses = self.uses.get(item.piece, ()) if isinstance(item, Load) else ()
        number = self.served[item.piece, copied]
        self.served[item.piece, copied] += 1
        return uses[number] if number < len(uses) else None

    def _boundary(self, item: Load | Store) -> float | None:
        """An input that is loaded, or an output that is stored, for the first time."""
        names = self.graph.inputs if isinstance(item, Load) else self.graph.outputs
        key = (type(item), item.piece)
        if item.piece.tensor not in names or key in self.moved:
            return None
        self.moved.add(key)
        return 0.0
