"""What lives when in a method of an ExecuTorch program, from its instructions in order.

A tensor is live from the first instruction that names it to the last, inputs from the beginning,
outputs to the end. One that is read before anything writes it is a view, where an earlier one of
its size lies at its place, and else state: live in every step of every method. A kernel writes what
it returns, its last argument, and reads all others; one whose name ends in `_` reads that too. A
delegate names what it reads first and what it writes behind: which is which is not in the file.
A move, as at the end of a branch, copies no bytes: what it names is then at the place of what was
moved, which lives for as long, and its own place is not touched.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from planners.core.errors import BadInput

MOST_NAMED = 2_000_000
"""Values that instructions name, one by one: more are no program."""
MOST_ROUNDS = 8  # of moves and loops in each other: of more, all that is moved lives throughout
MOST_BRANCHES = 1_000
VIEW, COPY_ROW = "executorch_prim::et_view", "executorch_prim::et_copy_index"


@dataclass(frozen=True, slots=True)
class PlannedTensor:
    """A tensor that has a place: its bytes, `own_bytes` of them its elements', where it is, and
    whether the file calls it state."""

    size_bytes: int
    memory: int
    offset: int
    state: bool
    name: str
    own_bytes: int

    @property
    def place(self) -> tuple[int, int, int]:
        return self.memory, self.offset, self.size_bytes


@dataclass(frozen=True, slots=True)
class Instruction:
    """What runs, as people call it, and the values that it names; a jump may lead back, or on:
    to the number of an instruction."""

    name: str
    values: tuple[int, ...]
    kind: Literal["kernel", "delegate", "move", "other"]
    back_to: int | None = None
    on_to: int | None = None


@dataclass(frozen=True)
class Method:
    """A method: planned tensors and lists of tensors by the number of their value, the bytes that
    it asks of each memory, and the values that are false, for jumps that are always taken.
    `constants` are values too, by their own names where the file has them."""

    source: str
    name: str
    tensors: Mapping[int, PlannedTensor]
    lists: Mapping[int, Sequence[int]]
    inputs: Sequence[int]
    outputs: Sequence[int]
    instructions: Sequence[Instruction]
    sizes: Sequence[int]
    false: Collection[int] = ()
    constants: Mapping[int, str] = field(default_factory=dict)

    def named(self, values: Sequence[int]) -> list[int]:
        """The planned tensors among values, and within the lists among them."""
        return [n for v in values for n in (v, *self.lists.get(v, ())) if n in self.tensors]

    def names(self) -> dict[int, str]:
        """A tensor by its own name, or by the instruction that names it first."""
        by_number: dict[int, str] = {}
        for step, instruction in enumerate(self.instructions, 1):
            for number in instruction.values:
                by_number.setdefault(number, f"{instruction.name} {step}")
        return {n: t.name or by_number.get(n, f"value {n}") for n, t in self.tensors.items()}


@dataclass
class Lives:
    """Half-open steps in which each tensor is live, step 0 the inputs and one behind the
    instructions; what is a view of what; what is state, `unsure` where a delegate may write it.
    `branches` of which one runs: the step where they part, and which of them makes a tensor.
    `unwritten` are read at the place of what a move names, where nothing ever is."""

    spans: dict[int, tuple[int, int]] = field(default_factory=dict)
    base: dict[int, int] = field(default_factory=dict)
    state: set[int] = field(default_factory=set)
    unsure: set[int] = field(default_factory=set)
    branches: dict[int, tuple[tuple[int, str], ...]] = field(default_factory=dict)
    unwritten: set[int] = field(default_factory=set)


def lives_of(method: Method) -> Lives:
    """Raises `BadInput` for a file whose instructions name more than anybody can walk."""
    _count(method)
    lives = Lives()
    _read_first(method, lives)
    lives.spans = _spans(method, lives)
    lives.branches = _branches(method, lives)
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

    def same_bytes(source: int, view: int) -> None:
        if source != view and _begin_together(tensors[source], tensors[view]):
            roots.setdefault(source, source)
            roots[view] = roots[source]

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
            outputs = method.named([value])
            if not outputs or seen & set(outputs):
                break
            tail += outputs
        return set(tail[:1]), set(tail[1:])
    if instruction.name.startswith(COPY_ROW):
        return set(method.named(values[:1])), set()
    if instruction.kind == "other" or instruction.name.partition(".")[0].endswith("_"):
        return set(), set()
    outputs = method.named(values[-1:])
    often = Counter(method.named(values))
    read_too = {
        n for n in outputs if often[n] > 2
    }  # Once as what is returned, once as what is given.
    return set(outputs) - read_too, set()


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
    for _ in range(MOST_ROUNDS):
        before = last.copy()
        _move(method, lives, last)
        _loop(method, first, last)
        if last == before:
            break
    else:
        for number in method.named([v for i in _moves(method) for v in i.values]):
            first[number], last[number] = 0, end
    untouched = _untouched(method, first)
    viewed = {i.values[-1] for i in method.instructions if i.name == VIEW}  # at the place as it is
    for number in untouched:
        last[number] = first[number]
    roots = {lives.base[n] for n in untouched if n in lives.base}
    views = {n for n, root in lives.base.items() if root in roots}
    lives.unwritten = views - untouched - viewed
    return {number: (first[number], last[number] + 1) for number in method.tensors}


def _moves(method: Method) -> list[Instruction]:
    """Those between tensors that have a place."""
    return [i for i in method.instructions if i.kind == "move" and len(method.named(i.values)) == 2]


def _move(method: Method, lives: Lives, last: dict[int, int]) -> None:
    """What is moved lives for as long as what it is moved to, and all views of that."""
    views: dict[int, list[int]] = {}
    for number, root in lives.base.items():
        views.setdefault(root, []).append(number)
    for instruction in reversed(_moves(method)):
        source, target = method.named(instruction.values)
        every = views.get(lives.base.get(target, target), [target])
        last[source] = max(last[source], *(last[number] for number in every))


def _loop(method: Method, first: dict[int, int], last: dict[int, int]) -> None:
    """What is in a loop is live all the time."""
    for step, instruction in enumerate(method.instructions, 1):
        if instruction.back_to is not None:
            begin = instruction.back_to + 1
            for number in method.tensors:
                if last[number] >= begin and first[number] <= step:
                    first[number] = min(first[number], begin)
                    last[number] = max(last[number], step)


def _untouched(method: Method, first: Mapping[int, int]) -> set[int]:
    """Those that a move names before all else: nothing is ever at their own place. No input, no
    state, and nothing in a loop."""
    if any(i.back_to is not None for i in method.instructions):
        return set()
    return {
        number
        for step, instruction in enumerate(method.instructions, 1)
        if instruction.kind == "move"
        for number in method.named(instruction.values[1:])
        if first[number] == step
    }


def _branches(method: Method, lives: Lives) -> dict[int, tuple[tuple[int, str], ...]]:
    """In which branch each tensor is made; of a method with loops nothing is said.

    A jump leads over the first branch to the second; the first's last instruction is a jump that is
    always taken, over the second.
    """
    sides: dict[int, tuple[tuple[int, str], ...]] = {}
    instructions, pairs = method.instructions, []
    for step, jump in enumerate(instructions, 1):
        if jump.back_to is not None:
            return sides
        if jump.on_to is None or not step < jump.on_to <= len(instructions):
            continue
        over = instructions[jump.on_to - 1]  # Steps are counted from 1.
        if over.on_to is not None and over.values[0] in method.false:
            pairs.append((step, jump.on_to, over.on_to))
    for step, middle, end in pairs if len(pairs) <= MOST_BRANCHES else ():
        first, second = (
            {n for i in instructions[low:high] for n in method.named(i.values)}
            for low, high in ((step, middle), (middle, end))
        )
        for side, numbers in (("first", first - second), ("second", second - first)):
            for number in numbers - lives.state:
                if lives.spans[number][0] > step:
                    sides[number] = (*sides.get(number, ()), (step, side))
    return sides
