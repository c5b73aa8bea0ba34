"""ExecuTorch programs (`.pte`): the memory plan that the exporter wrote, read without its package.

A planned tensor has the number of a memory and an offset; the memories' sizes are in
`non_const_buffer_sizes` (number 0 is unused). Lifetimes follow from the instructions in order: a
tensor is live from the first that names it to the last, inputs from the beginning, outputs to the
end, state all along; what a delegate does within is one instruction. Numbers of fields are those of
`schema/program.fbs` (ExecuTorch, "ET12").
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import prod
from pathlib import Path

from planners.audits.foreign import MOST_BYTES, ForeignPlan, ForeignTensor
from planners.audits.readers.flatbuffer import FlatTable
from planners.core.errors import BadInput
from planners.core.integers import rounded_up

TOOL = "ExecuTorch"
SIGN, SIGN_AT = b"ET12", 4
ALIGNMENT = 16  # of the exporter, where nobody asks for another
LARGEST_FILE = 2**31 - 1
MOST_NAMED, MOST_LOOPS, MOST_AXES = 2_000_000, 1_000, 64
"""Values that instructions name, one by one, and jumps backwards: more are no program."""
_TENSOR, _TENSOR_LIST, _OPTIONAL_LIST = 5, 10, 11  # of the union `KernelTypes`
_KERNEL, _DELEGATE, _MOVE, _JUMP, _FREE = 1, 2, 3, 4, 5  # of `InstructionArguments`
_UNBOUND = 2  # of `TensorShapeDynamism`
_VIEW = "executorch_prim::et_view"
_BYTES: Mapping[int, int] = {
    **dict.fromkeys((0, 1, 11, 12, 13, 16, 17, 23, 24, 25, 26), 1),
    **dict.fromkeys((2, 5, 15, 22, 27), 2),
    **dict.fromkeys((3, 6, 14, 28), 4),
    **dict.fromkeys((4, 7, 29), 8),
}
"""Of an element of each `ScalarType`; two or four of the smallest share one."""


@dataclass(frozen=True, slots=True)
class _Planned:
    """A tensor that has a place: its bytes, where, and whether it is there from the beginning."""

    size_bytes: int
    memory: int
    offset: int
    state: bool
    name: str


@dataclass(frozen=True, slots=True)
class _Instruction:
    """What runs, as people call it, and the values that it names."""

    name: str
    values: tuple[int, ...]
    back_to: int | None = None


def read_pte(path: str | Path) -> ForeignPlan:
    """The plan of a program's first method. Raises `BadInput` for what is no program."""
    program = _program(Path(path))
    methods = list(program.tables(1))
    if not methods:
        raise BadInput(f"{path} has no method: there is nothing to plan")
    method = methods[0]
    tensors, lists = _values(method)
    instructions = tuple(_instructions(method))
    sizes = method.numbers(8, "q")
    spans = _spans(method, tensors, lists, instructions)
    there = [number for number, span in spans.items() if span[0] == 0]
    aliases = _aliases(tensors, lists, instructions, there)
    names = _names(tensors, instructions)
    notes = []
    if len(methods) > 1:
        notes.append(f"of {len(methods)} methods this is {method.text(0)!r:.80}")
    if any(i.name.startswith("delegate") for i in instructions):
        notes.append("what delegates hold within themselves is not in the plan")
    return ForeignPlan(
        TOOL,
        str(path),
        tuple(
            ForeignTensor(
                str(number),
                *spans[number],
                tensor.size_bytes,
                tensor.offset,
                ALIGNMENT,
                _memory(tensor.memory),
                aliases.get(number, ""),
                names[number],
            )
            for number, tensor in tensors.items()
        ),
        ("inputs", *(i.name for i in instructions), "outputs"),
        own_peak={_memory(k): size for k, size in enumerate(sizes) if k and size > 0},
        notes=tuple(notes),
    )


def _memory(number: int) -> str:
    return f"memory {number}"


def _program(path: Path) -> FlatTable:
    try:
        if path.stat().st_size > LARGEST_FILE or not path.is_file():
            raise BadInput(f"{path} is no file of at most {LARGEST_FILE:,} bytes")
        data = path.read_bytes()
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from error
    if data[SIGN_AT : SIGN_AT + len(SIGN)] != SIGN:
        raise BadInput(f"{path} is not an ExecuTorch program: it does not say {SIGN.decode()}")
    return FlatTable.root(str(path), data)


def _values(method: FlatTable) -> tuple[dict[int, _Planned], dict[int, tuple[int, ...]]]:
    """The planned tensors by the number of their value, and the lists of tensors."""
    tensors, lists, listed = {}, {}, 0
    for number, value in enumerate(method.tables(2)):
        kind, held = value.number(0, "B"), value.table(1)
        if held is None:
            continue
        if kind == _TENSOR:
            tensor = _tensor(number, held)
            if tensor is not None:
                tensors[number] = tensor
        elif kind in (_TENSOR_LIST, _OPTIONAL_LIST):
            lists[number] = held.numbers(0, "i")
            listed += len(lists[number])
            if listed > MOST_NAMED:
                raise BadInput(f"{method.source}: lists have more than {MOST_NAMED:,} values")
    return tensors, lists


def _tensor(number: int, table: FlatTable) -> _Planned | None:
    """None for a constant, and for what finds its place only when it runs."""
    given = table.table(6)
    if given is None or table.number(8, "b") == _UNBOUND:
        return None
    shape, kind = table.numbers(2, "i", MOST_AXES), table.number(0, "b")
    if kind not in _BYTES:
        raise BadInput(f"{table.source}: value {number} has elements of type {kind}")
    size = -1 if any(n < 0 for n in shape) else prod(shape) * _BYTES[kind]
    if not 0 <= size <= MOST_BYTES:
        raise BadInput(f"{table.source}: value {number} cannot have the shape {shape!s:.80}")
    offset = given.number(1, "I") + (given.number(2, "I") << 32)
    more = table.table(9)
    name = more.text(1) if more is not None else ""
    state = bool(name) or table.number(5, "I") > 0
    return _Planned(rounded_up(size, ALIGNMENT), given.number(0, "I"), offset, state, name)


def _instructions(method: FlatTable) -> Iterator[_Instruction]:
    operators = [f"{o.text(0):.80}" for o in method.tables(6)]
    delegates = [f"delegate {d.text(0):.80}" for d in method.tables(7)]
    number = loops = named = 0
    for each in method.tables(5):
        begin = number
        for instruction in each.tables(2):
            number += 1
            if number + named > MOST_NAMED or loops > MOST_LOOPS:
                raise BadInput(f"{method.source} has too many instructions, or jumps among them")
            kind, held = instruction.number(0, "B"), instruction.table(1)
            if held is None:
                yield _Instruction("nothing", ())
            elif kind in (_KERNEL, _DELEGATE):
                names, at = operators if kind == _KERNEL else delegates, held.number(0, "i")
                name = names[at] if 0 <= at < len(names) else f"kernel {at}"
                values = held.numbers(1, "i")
                named += len(values)
                yield _Instruction(name, values)
            elif kind == _MOVE:
                yield _Instruction("move", (held.number(0, "i"), held.number(1, "i")))
            elif kind == _JUMP:
                target = begin + held.number(1, "i")
                back = target if 0 <= target < number else None
                loops += back is not None
                yield _Instruction("jump", (held.number(0, "i"),), back)
            else:
                yield _Instruction("free", (held.number(0, "i"),))


def _spans(
    method: FlatTable,
    tensors: Mapping[int, _Planned],
    lists: Mapping[int, Sequence[int]],
    instructions: Sequence[_Instruction],
) -> dict[int, tuple[int, int]]:
    """Half-open steps in which each is live: 0 the inputs, and one behind the instructions."""
    end = len(instructions) + 1
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    count = 0

    def named(step: int, values: Sequence[int]) -> None:
        nonlocal count
        count += len(values) + sum(len(lists.get(v, ())) for v in values)
        if count > MOST_NAMED:  # Lists may be shared: a small file can name as many as it likes.
            raise BadInput(f"{method.source} names more than {MOST_NAMED:,} values")
        for number in chain(values, *(lists.get(v, ()) for v in values)):
            first.setdefault(number, step)
            last[number] = step

    named(0, method.numbers(3, "i"))
    for step, instruction in enumerate(instructions, 1):
        named(step, instruction.values)
    named(end, method.numbers(4, "i"))
    for number, tensor in tensors.items():
        if tensor.state or number not in first:
            first[number], last[number] = 0, end
    for step, instruction in enumerate(instructions, 1):
        if instruction.back_to is not None:  # A loop: what is in it is live all the time.
            begin = instruction.back_to + 1
            for number in tensors:
                if last[number] >= begin and first[number] <= step:
                    first[number] = min(first[number], begin)
                    last[number] = max(last[number], step)
    return {number: (first[number], last[number] + 1) for number in tensors}


def _aliases(
    tensors: Mapping[int, _Planned],
    lists: Mapping[int, Sequence[int]],
    instructions: Sequence[_Instruction],
    there: Collection[int],
) -> dict[int, str]:
    """Views of a tensor are its bytes: one name for all of them. `there` is from the beginning."""
    root: dict[int, int] = {}
    for source, made in chain(_views(instructions), _elided(tensors, lists, instructions, there)):
        if source in tensors and made in tensors and source != made:
            one, other = tensors[source], tensors[made]
            if (one.memory, one.offset) == (other.memory, other.offset):
                root.setdefault(source, source)
                root[made] = root[source]
    return {number: f"bytes of {base}" for number, base in root.items()}


def _views(instructions: Sequence[_Instruction]) -> Iterator[tuple[int, int]]:
    """What a view is of, and the view, where an instruction makes it."""
    for instruction in instructions:
        if instruction.name == _VIEW and len(instruction.values) > 1:
            yield instruction.values[0], instruction.values[-1]


def _elided(
    tensors: Mapping[int, _Planned],
    lists: Mapping[int, Sequence[int]],
    instructions: Sequence[_Instruction],
    there: Collection[int],
) -> Iterator[tuple[int, int]]:
    """The same of views for which there is no instruction: the exporter leaves those of fixed shape
    out.

    Such a tensor is read before anything has written it: the first kernel that names it has it
    once, where it names what it writes twice or last.
    """
    latest: dict[tuple[int, int, int], int] = {}
    seen = set(there)
    for instruction in instructions:
        named = [n for v in instruction.values for n in (v, *lists.get(v, ())) if n in tensors]
        is_kernel = instruction.name != _VIEW and not instruction.name.startswith("delegate")
        fresh = Counter(n for n in named if n not in seen) if is_kernel else Counter[int]()
        for number, times in fresh.items():
            place = _place(tensors[number])
            if times == 1 and number != instruction.values[-1] and place in latest:
                yield latest[place], number
        for number in named:
            latest[_place(tensors[number])] = number
        seen.update(named)


def _place(tensor: _Planned) -> tuple[int, int, int]:
    return tensor.memory, tensor.offset, tensor.size_bytes


def _names(tensors: Mapping[int, _Planned], instructions: Sequence[_Instruction]) -> dict[int, str]:
    """A tensor by its own name, or by the instruction that names it first."""
    made: dict[int, str] = {}
    for step, instruction in enumerate(instructions, 1):
        for number in instruction.values:
            made.setdefault(number, f"{instruction.name} {step}")
    return {n: t.name or made.get(n, f"value {n}") for n, t in tensors.items()}
