"""A second reading of plan files, which shares no line with the first: an oracle for `check`.

The program of a file is run instruction by instruction on arrays that hold, for each byte of each
memory, which residency lies there and which element of which tensor it belongs to. Nothing is
clever: loops are written out, a region is the list of its addresses, what is at home is a mask.
Written from `docs/program.md`; nothing of `planners` or `app` is imported.

    totals = check(json.loads(Path("plan.json").read_text()))  # raises Refused with the reason
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tests.replay.memory import Bytes, Memories, Operand, Stay
from tests.replay.needs import (
    Array,
    Box,
    Graph,
    Operator,
    Refused,
    Shape,
    needs,
    number,
    require,
    slices,
    summed,
    text,
)
from tests.replay.program import Instruction, written_out

MOST_INSTRUCTIONS = 1 << 22
"""The loops of a file may make so many."""
MALFORMED = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RuntimeError)


@dataclass(frozen=True)
class Totals:
    """What a program does, in bytes: `peaks` by memory, `read` and `written` by the machine's
    memories, `moved` by engine, and how many elements each operator makes of how many it has."""

    loaded_bytes: int
    stored_bytes: int
    compulsory_bytes: int
    peak_bytes: int
    peak_step: int
    extent_bytes: int
    macs: int
    instructions: int
    occupancy: tuple[int, ...]
    peaks: Mapping[str, int]
    read: Mapping[str, int]
    written: Mapping[str, int]
    moved: Mapping[str, int]
    made: Mapping[str, tuple[int, int]]

    @property
    def traffic_bytes(self) -> int:
        return self.loaded_bytes + self.stored_bytes

    @property
    def noncompulsory_bytes(self) -> int:
        return self.traffic_bytes - self.compulsory_bytes


@dataclass
class Replay:
    """Bytes and homes while a program runs, and what was counted so far."""

    graph: Graph
    memories: Memories
    machine: Mapping[str, Any]
    homes: Mapping[str, str]
    steps: int
    step: int = 0
    loaded: int = 0
    stored: int = 0
    macs: int = 0
    peak: int = 0
    peak_step: int = 0
    read: Counter[str] = field(default_factory=Counter)
    written: Counter[str] = field(default_factory=Counter)
    moved: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        roots = [m for m in self.memories.by_name.values() if m.parent is None]
        self.bytes = {m.name: Bytes(m) for m in roots}
        self.occupancy = [0] * self.steps
        self._numbers: dict[tuple[str, Box], Array] = {}
        shapes = {t.name: t.shape for t in self.graph.tensors.values()}
        self.made = {name: np.zeros(shape, np.int64) for name, shape in shapes.items()}
        self.fetched = {name: np.zeros(shape, bool) for name, shape in shapes.items()}
        outside = [m.name for m in self.memories.by_name.values() if not m.addressed]
        self.home = {(m, n): np.zeros(shape, bool) for m in outside for n, shape in shapes.items()}
        for kind, name in {"output": "", **self.homes}.items():
            require(name in outside, f"{kind} has no home")
        for tensor in self.graph.tensors.values():
            home = self.homes.get("input" if tensor.kind == "state" else tensor.kind)
            if home is not None and tensor.kind != "activation":
                self.home[home, tensor.name][...] = True
        self._needs: dict[Any, list[tuple[str, Box]]] = {}

    def run(self, items: Iterator[Instruction]) -> Totals:
        """Run every instruction, look at what is left, and count."""
        count = 0
        for item in items:
            count += 1
            require(count <= MOST_INSTRUCTIONS, "too many instructions")
            require(self.step <= item.step < self.steps, f"step {item.step} is out of order")
            self.step = item.step
            if item.name in ("load", "store"):
                self._transfer(item)
            elif item.name == "compute":
                self._compute(item)
            elif item.name == "release":
                self._release(item.reads[0])
        self._require_end()
        chips = {name: b for name, b in self.bytes.items() if not b.memory.offchip}
        ends = self.graph.outputs - self.graph.inputs
        loads = (self.graph.size(n, int(mask.sum())) for n, mask in self._fetched_from_outside())
        stores = (self.graph.size(n, self.graph.tensors[n].elements) for n in ends)
        return Totals(
            loaded_bytes=self.loaded,
            stored_bytes=self.stored,
            compulsory_bytes=sum(loads) + sum(stores),
            peak_bytes=self.peak,
            peak_step=self.peak_step,
            extent_bytes=max((b.extent for b in chips.values()), default=0),
            macs=self.macs,
            instructions=count,
            occupancy=tuple(self.occupancy),
            peaks={name: b.most for name, b in chips.items()},
            read=dict(self.read),
            written=dict(self.written),
            moved=dict(self.moved),
            made={o: (int(self.made[o].sum()), self.made[o].size) for o in self._outputs()},
        )

    def _outputs(self) -> list[str]:
        return [name for op in self.graph.operators.values() for name in op.outputs]

    def _fetched_from_outside(self) -> list[tuple[str, Array]]:
        kinds = {t.name: t.kind for t in self.graph.tensors.values()}
        return [(n, mask) for n, mask in self.fetched.items() if kinds[n] != "activation"]

    def _note(self) -> None:
        """Count what is on chip towards this step: as one comes, and after an operator."""
        held = sum(b.held for b in self.bytes.values() if not b.memory.offchip)
        self.occupancy[self.step] = max(self.occupancy[self.step], held)
        if held > self.peak:
            self.peak, self.peak_step = held, self.step

    # ---- pieces ------------------------------------------------------------------------------

    def _sized(self, piece: Operand, size: int | None = None) -> Operand:
        """The operand, once its box lies in its tensor and its region has its bytes."""
        require(piece.tensor in self.graph.tensors, f"there is no tensor {piece.tensor!r:.40}")
        shape = self.graph.tensors[piece.tensor].shape
        inside = len(shape) == len(piece.box) and all(
            0 <= a < b <= n for (a, b), n in zip(piece.box, shape, strict=True)
        )
        require(inside, f"{piece.piece} lies outside of its tensor")
        size = self.graph.size(piece.tensor, piece.elements) if size is None else size
        require(piece.size == size, f"{piece.piece} has {size} bytes, its region {piece.size}")
        return piece

    def _contents(self, piece: Operand) -> Array:
        """The element that each byte of a piece holds (the first, of those in one byte)."""
        if piece.piece not in self._numbers:
            tensor = self.graph.tensors[piece.tensor]
            numbers = np.arange(tensor.elements).reshape(tensor.shape)[slices(piece.box)].ravel()
            byte = np.arange(self.graph.size(piece.tensor, piece.elements))
            held = numbers[byte * 8 // self.graph.bits(piece.tensor)] + tensor.first
            self._numbers[piece.piece] = held
        return self._numbers[piece.piece]

    def _get(self, piece: Operand) -> None:
        """See that a piece is, whole and finished, where it is said to be."""
        self._sized(piece)
        if self.memories[piece.memory].addressed:
            self._find(piece)
            return
        require(piece.offset is None, f"{piece.memory} has no addresses")
        there = self.home[piece.memory, piece.tensor][slices(piece.box)].all()
        require(bool(there), f"{piece.memory} holds no copy of {piece.piece}")

    def _find(self, piece: Operand) -> tuple[Bytes, int]:
        at = self.memories.addresses(piece)
        memory = self.bytes[self.memories.root(piece.memory).name]
        turn = memory.find(piece, at)
        require(memory.stays[turn].left is None, f"{piece.piece} is not complete")
        right = np.array_equal(memory.element[at], self._contents(piece))
        require(right, f"bytes of {piece.piece} hold something else")
        return memory, turn

    def _place(self, piece: Operand, left: Array | None, sums: bool, size: int | None) -> Stay:
        """Have a piece take its bytes; `left` of it is still to be made."""
        at = self.memories.addresses(self._sized(piece, size))
        memory = self.bytes[self.memories.root(piece.memory).name]
        stay = memory.take(Stay(piece, at, left, sums))
        if left is None:
            memory.element[at] = self._contents(piece)
        if not memory.memory.offchip:
            self._note()
        return stay

    def _release(self, piece: Operand) -> None:
        self._sized(piece)
        memory, turn = self._find(piece)
        memory.free(memory.stays.pop(turn).at)
        del memory.places[piece.piece]

    # ---- instructions ------------------------------------------------------------------------

    def _tally(self, reads: list[Operand], written: list[Operand]) -> None:
        """Bytes read and written in each of the machine's memories."""
        for counts, operands in ((self.read, reads), (self.written, written)):
            for o in operands:
                counts[self.memories.level(o.memory)] += o.size

    def _transfer(self, item: Instruction) -> None:
        ((source,), (target,)) = item.reads, item.writes
        one, other = self.memories.root(source.memory), self.memories.root(target.memory)
        require(one is not other, f"{source.piece} moves within {one.name}")
        engine = item.engine or ("dma_in" if item.name == "load" else "dma_out")
        ends = self.memories.level(source.memory), self.memories.level(target.memory)
        require(moves(self.machine, engine, *ends), f"{engine} does not go from {ends[0]}")
        self._get(source)
        if other.addressed:
            self._place(target, None, False, None)
        else:
            require(target.offset is None, f"{other.name} has no addresses")
            self._sized(target)
            self.home[target.memory, target.tensor][slices(target.box)] = True
        self._tally([source], [target])
        self.moved[engine] += source.size
        if one.offchip and not other.offchip:
            self.loaded += source.size
            self.fetched[source.tensor][slices(source.box)] = True
        elif other.offchip and not one.offchip:
            self.stored += source.size

    def _compute(self, item: Instruction) -> None:
        op = self.graph.operators.get(item.operator)
        if op is None or item.engine != "compute":
            raise Refused(f"there is no operator {item.operator!r:.40}, or no arithmetic for it")
        boxes: dict[str, list[Box]] = defaultdict(list)
        for o in item.reads:
            require(o.tensor in (*op.inputs, *op.parameters), f"{op.name} reads no {o.tensor}")
            self._get(o)
            boxes[o.tensor].append(o.box)
            if self.memories[o.memory].offchip:
                self.loaded += o.size
                self.fetched[o.tensor][slices(o.box)] = True
        for at in item.frees:
            require(0 <= at < len(item.reads), f"{op.name} has no read {at}")
            self._release(item.reads[at])
        reads, written, macs = list(item.reads), [], 0
        for i, o in enumerate(item.writes):
            require(o.tensor in op.outputs, f"{op.name} makes no {o.tensor}")
            part = replace(o, box=item.parts[i]) if item.parts else o
            begun, last = self._write(op, o, part, item)
            self._require_read(op, part, item.sums, last, boxes)
            bytes_ = o.size
            if item.parts:
                bytes_ = o.size * part.elements // o.elements
            written.append(replace(part, size=bytes_))
            reads += [o] if begun and item.sums else []
            if self.memories[o.memory].offchip:
                self.loaded += o.size if begun and item.sums else 0
                self.stored += o.size if item.sums else self.graph.size(o.tensor, part.elements)
            if o.tensor == op.outputs[0]:
                share, of = part.elements, self.graph.tensors[o.tensor].elements
                if item.sums:
                    share, of = share * (item.sums[1] - item.sums[0]), of * summed(self.graph, op)
                macs += -(-op.macs * share // of)
        require(macs == item.macs, f"{op.name} does {macs} MACs here, not {item.macs}")
        self.macs += macs
        self._tally(reads, written)
        self._note()

    def _write(
        self, op: Operator, o: Operand, part: Operand, item: Instruction
    ) -> tuple[bool, bool]:
        """Make a piece, or a part of it: was it begun before, and is it complete now?"""
        if item.sums is None and not item.parts:
            self._place(o, None, False, None)
            self.made[o.tensor][slices(o.box)] += 1
            return False, True
        size = None
        if item.sums:
            require(summed(self.graph, op) > 0, f"{op.name} cannot be summed in parts")
            size = self.graph.sum_size(op, o.elements)
            extent: Shape = (summed(self.graph, op),)
            cut: Box = (item.sums,)
        else:
            extent = tuple(b - a for a, b in o.box)
            cut = tuple((a - c, b - c) for (a, b), (c, _) in zip(part.box, o.box, strict=True))
        inside = all(0 <= a < b <= n for (a, b), n in zip(cut, extent, strict=True))
        require(inside, f"{part.piece} is no part of {o.piece}")
        self._sized(o, size)
        at = self.memories.addresses(o)
        memory = self.bytes[self.memories.root(o.memory).name]
        begun = o.piece in memory.places
        if not begun:
            self._place(o, np.ones(extent, bool), item.sums is not None, size)
        stay = memory.stays[memory.find(o, at)]
        fits = stay.left is not None and stay.sums == (item.sums is not None)
        require(fits, f"nothing is left to be added to {o.piece}")
        assert stay.left is not None
        require(bool(stay.left[slices(cut)].all()), f"{part.piece} is made already")
        stay.left[slices(cut)] = False
        if stay.left.any():
            return begun, False
        own = self.graph.size(o.tensor, o.elements)
        stay.left = None
        memory.free(at[own:])
        stay.at, stay.operand = at[:own], replace(o, size=own)
        memory.element[stay.at] = self._contents(o)
        self.made[o.tensor][slices(o.box)] += 1
        return begun, True

    def _require_read(
        self,
        op: Operator,
        part: Operand,
        sums: tuple[int, int] | None,
        last: bool,
        boxes: Mapping[str, list[Box]],
    ) -> None:
        """See that an instruction reads all that it needs for a part of an output."""
        key = (op.name, part.piece, sums, last)
        if key not in self._needs:
            self._needs[key] = needs(self.graph, op, part.tensor, part.box, sums, last)
        for name, box in self._needs[key]:
            tensor = self.graph.tensors[name]
            if box in boxes[name] or (tensor.kind == "parameter" and tensor.kind not in self.homes):
                continue
            there = np.zeros(tensor.shape, bool)
            for one in boxes[name]:
                there[slices(one)] = True
            require(bool(there[slices(box)].all()), f"{op.name} needs {name}{box}")

    def _require_end(self) -> None:
        for memory in self.bytes.values():
            open_ = [s.operand.piece for s in memory.stays.values() if s.left is not None]
            require(not open_, f"{open_[:1]} is never completed")
        for name in self._outputs():
            require(bool(self.made[name].all()), f"{name} is never made")
        for name in self.graph.outputs:
            there = self.home[self.homes["output"], name]
            require(bool(there.all()), f"output {name} is not at home")


def moves(machine: Mapping[str, Any], engine: str, source: str, target: str) -> bool:
    """Whether an engine of a machine moves bytes between two of its memories."""
    memories = [m["name"] for m in machine["memories"]]
    shares = {e["name"]: e.get("shares") or e["name"] for e in machine["engines"]}
    if engine not in shares or not {source, target} <= set(memories):
        return False
    drive = "storage" if "storage" in memories else machine.get("parameters", "host")
    chip = machine.get("onchip", "scratchpad")
    can = {
        "compute": False,
        "dma_in": source != chip,
        "copy": source != chip,
        "dma_out": target != chip,
        "storage": drive in (source, target),
    }
    return bool(can.get(shares[engine], True))


# ---- files -----------------------------------------------------------------------------------


def run(data: Any) -> Totals:
    """Run the program of a plan, whatever is claimed of it. Raises `Refused`."""
    try:
        graph, program = Graph(data["graph"]), data["program"]
        require(isinstance(program["steps"], list), "steps are a list of names")
        steps = len([text(name) for name in program["steps"]])
        memories = Memories(program["memories"])
        replay = Replay(graph, memories, data["machine"], program["homes"], steps)
        return replay.run(written_out(program["pieces"], program["instructions"]))
    except MALFORMED as error:
        raise Refused(f"malformed: {error!r:.80}") from error


def check(data: Any) -> Totals:
    """Run the program of a plan and compare it with its budget and its claims. Raises `Refused`."""
    require(isinstance(data, dict) and data.get("format") == "spillway-plan", "no plan")
    require(data.get("version") in (1, 2), "of another version")
    totals = run(data)
    try:
        _require_claims(data, totals)
    except MALFORMED as error:
        raise Refused(f"malformed: {error!r:.80}") from error
    return totals


def _require_claims(data: Any, totals: Totals) -> None:
    machine, claims = data["machine"], data["claims"]
    memories = Memories(data["program"]["memories"])
    slower, sizes = machine.get("slower", ()), memories.sizes()
    have = {m["name"]: m["size_bytes"] for m in machine["memories"]}
    require({*map(memories.level, memories.by_name)} <= have.keys(), "of another machine")
    for name in slower:
        require(sizes[name] <= have[name], f"more of {name} than there is")
    outside = {memories.level(m.name) for m in memories.by_name.values() if m.offchip}
    require(outside.isdisjoint((machine["onchip"], *slower)), "off chip, but as fast as on chip")
    onchip = sum(size for name, size in sizes.items() if name not in slower)
    require(onchip <= number(data["budget_bytes"]), f"memories of {onchip} bytes")
    for name in ("peak_bytes", "extent_bytes", "compulsory_bytes", "noncompulsory_bytes"):
        counted = getattr(totals, name)
        require(number(claims[name]) == counted, f"{name}: {claims[name]}, but {counted}")
    objective, bound = number(claims["objective_bytes"]), number(claims["bound_bytes"])
    values = {totals.noncompulsory_bytes, totals.traffic_bytes, totals.peak_bytes, onchip}
    values.add(totals.extent_bytes)
    there = [name for name in slower if name in map(memories.level, memories.by_name)]
    if there:
        values.add(sum(totals.read.get(n, 0) + totals.written.get(n, 0) for n in there))
    require(objective in values, f"an objective of {objective} that nothing has")
    latency = data.get("details", {}).get("latency")
    exact = objective == bound
    if latency is not None:
        exact = latency["seconds"] * (1 - 1e-9) <= latency["bound_s"]
    require(claims["status"] in ("optimal", "feasible"), "no status")
    require(claims["plan_s"] >= 0, "less than no time")
    require(0 <= bound <= objective and (exact or claims["status"] != "optimal"), "not proven")
