"""XLA: `*-buffer-assignment.txt`, and `*-live-range.txt` beside it, of `--xla_dump_to`.

Buffers that come and go are packed into allocations called `preallocated-temp`: each is a memory
here, its values at their offsets and live as the other file says, both ends included. Where a value
begins in the step in which another of its size at its offset ends, it is written over it (in place)
and both are the same bytes by right; a smaller one shortens the life of the other by that step.
What a loop carries, and what branches give, is in one buffer, whose bytes others may use while none
of it is live. The files mark some of its values (`(phi)`) and do not say which are the others: here
all of a marked value's size at its offset stay at one address (`ForeignTensor.buffer`).
All other allocations (parameters, outputs, constants) are there from beginning to end, one after
the other in a memory of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from planners.allocation.csv_io import text_of
from planners.audits.foreign import ForeignPlan, ForeignTensor
from planners.core.errors import BadInput

TOOL = "XLA"
SIGN = "BufferAssignment:"
FILE, BESIDE = "-buffer-assignment.txt", "-live-range.txt"
WHOLE = "parameters, outputs and constants"
MOST_ALIGNED = 64
BORDERED, BORDER = re.compile(r"(?:\w+_)?pad(?:_fusion)?(?:\.\d{1,12})?"), "a map with its border"
"""How a value is called that a pad writes, or a fusion that ends with one."""
_ALLOCATION = re.compile(r"allocation (\d{1,12}): size (\d{1,18})(.*):")
_VALUE = re.compile(
    r" value: <(\d{1,12}) (\S+)( \(phi\))? @\d+> \(size=(\d{1,18}),offset=(\d{1,18})\).*"
)
_RANGE = re.compile(r"\s+(\S+):(\d{1,12})-(\d{1,12})")
_STEP = re.compile(r"\s+(\d{1,12}):(\S+)")


@dataclass
class XlaAllocation:
    """An allocation: its number, bytes, what the file says of it, and values in it."""

    number: int
    size_bytes: int
    words: str
    values: list[ForeignTensor] = field(default_factory=list)

    @property
    def packed(self) -> bool:
        return "preallocated-temp" in self.words

    @property
    def name(self) -> str:
        return f"temporary {self.number}"


def read_xla(path: str | Path) -> ForeignPlan:
    """A dump as a plan. Raises `BadInput` with the file and line that is wrong."""
    path = Path(path)
    if path.name.endswith(BESIDE):
        path = path.with_name(path.name.removesuffix(BESIDE) + FILE)
    beside = path.with_name(path.name.removesuffix(FILE) + BESIDE)
    if not path.name.endswith(FILE) or not beside.is_file():
        raise BadInput(f"{path}: name it …{FILE}, with its …{BESIDE} beside it: it has lifetimes")
    steps, live = _live_ranges(beside)
    allocations = list(_allocations(path, live))
    if not allocations:
        raise BadInput(f"{path}: no allocations")
    end = max([1, *(upper for _, upper in live.values())])
    tensors = [t for a in allocations if a.packed for t in _shared(a.values)]
    tensors += _whole([a for a in allocations if not a.packed], end)
    packed = {a.name: a.size_bytes for a in allocations if a.packed}
    notes = ("values in outputs' allocations are not packed: each output is a buffer of its own",)
    return ForeignPlan(TOOL, str(path), tuple(tensors), steps, own_peak=packed, notes=notes)


def dump_in(folder: Path) -> Path:
    """The one dump of a folder. Raises `BadInput` that names the largest of several."""
    dumps = sorted(folder.glob(f"*{FILE}"), key=lambda p: (-p.stat().st_size, p.name))
    if len(dumps) == 1:
        return dumps[0]
    if not dumps:
        raise BadInput(f"{folder} is a folder without a …{FILE} of XLA")
    raise BadInput(f"{folder} has {len(dumps)} …{FILE}, the largest {dumps[0].name}: name one")


def _live_ranges(path: Path) -> tuple[tuple[str, ...], Mapping[str, tuple[int, int]]]:
    """The instructions in order, and of each value the steps in which it is live, half-open."""
    _, text = text_of(path)
    steps: list[str] = []
    live: dict[str, tuple[int, int]] = {}
    part = ""
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{path}, line {number}"
        if line.strip() in ("InstructionSequence:", "BufferLiveRange:"):
            part = line.strip()
        elif line.lstrip().startswith("Live ranges at"):
            break
        elif part == "InstructionSequence:":
            if not (step := _STEP.fullmatch(line)) or int(step[1]) != len(steps):
                raise BadInput(f"{where}: no step {len(steps)} of a sequence: {line!r:.80}")
            steps.append(step[2])
        elif part:
            if not (match := _RANGE.fullmatch(line)) or int(match[2]) > int(match[3]):
                raise BadInput(f"{where}: no live range of a value: {line!r:.80}")
            live[match[1]] = int(match[2]), int(match[3]) + 1
    if not live:
        raise BadInput(f"{path}: no live ranges")
    return tuple(steps), live


def _allocations(path: Path, live: Mapping[str, tuple[int, int]]) -> Iterator[XlaAllocation]:
    _, text = text_of(path)
    lines = text.splitlines()
    if not lines or lines[0].strip() != SIGN:
        raise BadInput(f"{path} does not begin with {SIGN}")
    now: XlaAllocation | None = None
    for number, line in enumerate(lines[1:], 2):
        where = f"{path}, line {number}"
        if not line.strip():
            break
        if match := _ALLOCATION.fullmatch(line):
            if now is not None:
                yield now
            now = XlaAllocation(int(match[1]), int(match[2]), match[3])
        elif now is not None and (value := _VALUE.fullmatch(line)):
            if now.packed:
                now.values.append(_value(value, now, live, where))
        else:
            raise BadInput(f"{where}: neither an allocation nor a value: {line!r:.80}")
    if now is not None:
        yield now


def _value(
    match: re.Match[str], inside: XlaAllocation, live: Mapping[str, tuple[int, int]], where: str
) -> ForeignTensor:
    name, size, offset = match[2], int(match[4]), int(match[5])
    full = name if name.endswith("}") else f"{name}{{}}"
    if full not in live:
        raise BadInput(f"{where}: {name!r:.80} has no live range")
    if offset + size > inside.size_bytes:
        raise BadInput(f"{where}: {name!r:.80} ends behind its allocation")
    lower, upper = live[full]
    buffer = f"{inside.name}: {size} at {offset}" if match[3] else ""
    id = f"{match[1]} {name}"
    return ForeignTensor(id, lower, upper, size, offset, 1, inside.name, buffer=buffer)


def _shared(values: Sequence[ForeignTensor]) -> list[ForeignTensor]:
    """Values aligned as they lie, with those that are written in place the same bytes."""
    buffers = {(t.offset, t.size_bytes): t.buffer for t in values if t.buffer}
    offsets = [t.offset or 0 for t in values if t.offset]
    aligned = min([MOST_ALIGNED, *(offset & -offset for offset in offsets)])
    tensors: list[ForeignTensor] = []
    ends: dict[tuple[int | None, int], int] = {}
    for tensor in sorted(values, key=lambda t: (t.lower, t.upper)):
        new = replace(
            tensor,
            alignment=aligned,
            alias=tensor.id,
            name=(name := tensor.id.split(" ", 1)[1]),
            role=BORDER if BORDERED.fullmatch(name) else "",
            buffer=buffers.get((tensor.offset, tensor.size_bytes), ""),
        )
        at = ends.get((new.offset, new.lower))
        if at is not None:
            old = tensors[at]
            if old.size_bytes == new.size_bytes:
                new = replace(new, alias=old.alias)
            elif old.upper - old.lower > 1:
                tensors[at] = replace(old, upper=old.upper - 1)
        ends[new.offset, new.upper - 1] = len(tensors)
        tensors.append(new)
    return tensors


def _whole(allocations: Iterable[XlaAllocation], end: int) -> Iterator[ForeignTensor]:
    """Allocations one behind the other, there all the time."""
    at = 0
    for one in allocations:
        name = f"allocation {one.number}"
        yield ForeignTensor(name, 0, end, one.size_bytes, at, 1, WHOLE, "", name + one.words[:80])
        at += one.size_bytes
