"""What lives when in a method of an ExecuTorch program, from its instructions in order.

A tensor is live from the first instruction that names it to the last, inputs from the beginning,
outputs to the end. One that is read before anything writes it is a view, where an earlier one of
its size lies at its place, and else state: live in every step of every method. A kernel writes what
it returns, its last argument, and reads all others; one whose name ends in `_` reads that too. A
delegate names what it reads first and what it writes behind: which is which is not in the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from planners.core.errors import BadInput

MOST_NAMED = 2_000_000
"""Values that instructions name, one by one: more are no program."""
VIEW, COPY_ROW = "executorch_prim::et_view", "executorch_prim::et_copy_index"


@dataclass(frozen=True, slots=True)
class PlannedTensor:
    """A tensor that has a place: its bytes, where, and whether the file calls it state."""

    size_bytes: int
    memory: int
    offset: int
    state: bool
    name: str

    @property
    def place(self) -> tuple[int, int, int]:
        return self.memory, self.offset, self.size_bytes


@dataclass(frozen=True, slots=True)
class Instruction:
    """What runs, as people call it, and the values that it names; a jump may lead back."""

    name: str
    values: tuple[int, ...]
    kind: Literal["kernel", "delegate", "move", "other"]
    back_to: int | None = None


@dataclass(frozen=True)
class Method:
    """A method: planned tensors and lists of tensors by the number of their value, and the bytes
    that it asks of each memory."""

    source: str
    name: str
    tensors: Mapping[int, PlannedTensor]
    lists: Mapping[int, Sequence[int]]
    inputs: Sequence[int]
    outputs: Sequence[int]
    instructions: Sequence[Instruction]
    sizes: Sequence[int]

    def named(self, values: Sequence[int]) -> list[int]:
        """The planned tensors among values, and within the lists among them."""
        return [n for v in values for n in (v, *self.lists.get(v, ())) if n in self.tensors]

    def names(self) -> dict[int, str]:
        """A tensor by its own name, or by the instruction that names it first."""
        made: dict[int, str] = {}
        for step, instruction in enumerate(self.instructions, 1):
            for number in instruction.values:
                made.setdefault(number, f"{instruction.name} {step}")
        return {n: t.name or made.get(n, f"value {n}") for n, t in self.tensors.items()}


@dataclass
class Lives:
    """Half-open steps in which each tensor is live, step 0 the inputs and one behind the
    instructions; what is a view of what; what is state, `unsure` where a delegate may write it."""

    spans: dict[int, tuple[int, int]] = field(default_factory=dict)
    base: dict[int, int] = field(default_factory=dict)
    state: set[int] = field(default_factory=set)
    unsure: set[int] = field(default_factory=set)


def lives_of(method: Method) -> Lives:
    """Raises `BadInput` for a file whose instructions name more than anybody can walk."""
    _count(method)
    lives = Lives()
    _read_first(method, lives)
    lives.spans = _spans(method, lives)
    return lives


def _count(method: Method) -> None:
    """Lists may be shared: a small file can name as many values as it likes."""
    every = [method.inputs, method.outputs, *(i.values for i in method.instructions)]
    count = 0
    for values in every:
        count += len(values) + sum(len(method.lists.get(v, ())) for v in values)
        if count > MOST_NAMED:
            raise BadInput(f"{method.source} names more than {MOST_NAMED:,} values")


def _read_first(method: Method, lives: Lives) -> None:
    """Find views and state: what is read, and nothing has written it."""
    tensors, roots = method.tensors, lives.base
    latest: dict[tuple[int, int, int], int] = {}
    seen: set[int] = set()

    def note(numbers: Sequence[int]) -> None:
        latest.update((tensors[n].place, n) for n in numbers)
        seen.update(numbers)

    def same_bytes(source: int, made: int) -> None:
        if source != made and _begin_together(tensors[source], tensors[made]):
            roots.setdefault(source, source)
            roots[made] = roots[source]

    note(method.named(method.inputs))
    for instruction in (
        *method.instructions,
        Instruction("outputs", tuple(method.outputs), "other"),
    ):
        named = method.named(instruction.values)
        written, unsure = _written(method, instruction, seen)
        for number in dict.fromkeys(named):
            if number in seen or number in written:
                continue
            if (before := latest.get(tensors[number].place)) is not None:
                same_bytes(before, number)
            elif number in unsure:
                lives.unsure.add(number)
            else:
                lives.state.add(number)
        values = instruction.values
        if instruction.name == VIEW and {values[0], values[-1]} <= tensors.keys():
            same_bytes(values[0], values[-1])
        note(named)
    for number, tensor in tensors.items():
        if tensor.state or number not in seen:
            lives.state.add(number)
    lives.unsure = _alone(method, lives)
    lives.state |= lives.unsure


def _begin_together(one: PlannedTensor, other: PlannedTensor) -> bool:
    return (one.memory, one.offset) == (other.memory, other.offset)


def _written(method: Method, instruction: Instruction, seen: set[int]) -> tuple[set[int], set[int]]:
    """What an instruction writes without a look at what is there, and what it may write so."""
    values = instruction.values
    if instruction.kind == "delegate":
        tail: list[int] = []
        for value in reversed(values):
            made = method.named([value])
            if not made or seen & set(made):
                break
            tail += made
        return set(tail[:1]), set(tail[1:])
    if instruction.name.startswith(COPY_ROW):
        return set(method.named(values[:1])), set()
    if instruction.kind == "other" or instruction.name.partition(".")[0].endswith("_"):
        return set(), set()
    made = method.named(values[-1:])
    often = Counter(method.named(values))
    read_too = {n for n in made if often[n] > 2}  # Once as what is returned, once as what is given.
    return set(made) - read_too, set()


def _alone(method: Method, lives: Lives) -> set[int]:
    """Those of the unsure whose bytes the plan gives to nothing else: of the others it says itself
    that they do not stay."""
    shared: set[int] = set()
    furthest, at_memory, stop = -1, -1, 0
    for number in sorted(method.tensors, key=lambda n: method.tensors[n].place):
        memory, offset, size = method.tensors[number].place
        root = lives.base.get(number, number)
        if memory == at_memory and offset < stop and root != furthest:
            shared |= {root, furthest}
        if memory != at_memory or offset + size > stop:
            furthest, at_memory, stop = root, memory, offset + size
    return lives.unsure - shared


def _spans(method: Method, lives: Lives) -> dict[int, tuple[int, int]]:
    end = len(method.instructions) + 1
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    every = (method.inputs, *(i.values for i in method.instructions), method.outputs)
    for step, values in enumerate(every):
        for number in method.named(values):
            first.setdefault(number, step)
            last[number] = step
    for number in lives.state:
        first[number], last[number] = 0, end
    for step, instruction in enumerate(method.instructions, 1):
        if instruction.back_to is not None:  # A loop: what is in it is live all the time.
            begin = instruction.back_to + 1
            for number in method.tensors:
                if last[number] >= begin and first[number] <= step:
                    first[number] = min(first[number], begin)
                    last[number] = max(last[number], step)
    return {number: (first[number], last[number] + 1) for number in method.tensors}
