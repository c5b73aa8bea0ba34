"""ExecuTorch programs (`.pte`): the memory plan that the exporter wrote, read without its package.

A planned tensor has the number of a memory and an offset; the memories' sizes are in
`non_const_buffer_sizes` (number 0 is unused). Methods run one after the other in the same memories,
as those that ExecuTorch's `Program` loads: state of one lives through all. What a delegate does
within is one instruction. Numbers of fields are those of `schema/program.fbs` (ExecuTorch, "ET12").
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from pathlib import Path

from planners.audits.foreign import MOST_BYTES, ForeignPlan, ForeignTensor
from planners.audits.readers.flatbuffer import FlatTable
from planners.audits.readers.pte_lifetimes import (
    MOST_NAMED,
    Instruction,
    Lives,
    Method,
    PlannedTensor,
    lives_of,
)
from planners.core.errors import BadInput
from planners.core.integers import rounded_up

TOOL = "ExecuTorch"
SIGN, SIGN_AT = b"ET12", 4
ALIGNMENT = 16  # of the exporter, where nobody asks for another
LARGEST_FILE = 2**31 - 1
MOST_LOOPS, MOST_AXES = 1_000, 64  # Jumps backwards: more are no program.
MOST_TOLD = 4  # methods by name
UNWRITTEN = "the program reads what is not there, with these addresses and with others"
_BOOL, _TENSOR, _TENSOR_LIST, _OPTIONAL_LIST = 3, 5, 10, 11  # of the union `KernelTypes`
_KERNEL, _DELEGATE, _MOVE, _JUMP, _FREE = 1, 2, 3, 4, 5  # of `InstructionArguments`
_UNBOUND = 2  # of `TensorShapeDynamism`
_BYTES: Mapping[int, int] = {
    **dict.fromkeys((0, 1, 11, 12, 13, 16, 17, 23, 24, 25, 26), 1),
    **dict.fromkeys((2, 5, 15, 22, 27), 2),
    **dict.fromkeys((3, 6, 14, 28), 4),
    **dict.fromkeys((4, 7, 29), 8),
}
"""Of an element of each `ScalarType`; two or four of the smallest share one."""


def read_pte(path: str | Path) -> ForeignPlan:
    """The plan of a program. Raises `BadInput` for what is no program."""
    methods = [_method(table) for table in _program(Path(path)).tables(1)]
    if not methods:
        raise BadInput(f"{path} has no method: there is nothing to plan")
    lives = [lives_of(method) for method in methods]
    prefixes = [f"{method.name}/" if len(methods) > 1 else "" for method in methods]
    steps: list[str] = []
    tensors: list[ForeignTensor] = []
    state: set[str] = set()
    for prefix, method, live in zip(prefixes, methods, lives, strict=True):
        tensors += _tensors(method, live, prefix, len(steps))
        state |= {f"{prefix}{number}" for number in live.state}
        done = ("inputs", *(i.name for i in method.instructions), "outputs")
        steps += [prefix + step for step in done]
    if len(methods) > 1:
        tensors = _through_all(tensors, state, len(steps))
    return ForeignPlan(
        TOOL,
        str(path),
        tuple(tensors),
        tuple(steps),
        own_peak=_own_peak(methods),
        notes=tuple(_notes(methods, lives)),
    )


def _tensors(method: Method, live: Lives, prefix: str, begin: int) -> Iterator[ForeignTensor]:
    names, copies = method.names(), copies_in(method, live)
    for number, tensor in method.tensors.items():
        lower, upper = live.spans[number]
        base = live.base.get(number)
        yield ForeignTensor(
            f"{prefix}{number}",
            begin + lower,
            begin + upper,
            tensor.size_bytes,
            tensor.offset,
            ALIGNMENT,
            _memory(tensor.memory),
            "" if base is None else f"bytes of {prefix}{base}",
            prefix + names[number],
            tuple((begin + step, side) for step, side in live.branches.get(number, ())),
            role=copies.get(number, ""),
        )


def _through_all(
    tensors: Sequence[ForeignTensor], state: Collection[str], end: int
) -> list[ForeignTensor]:
    """State lives in all steps; of several methods at one place it is the same bytes."""
    at: dict[tuple[str, int | None, int], str] = {}
    same: dict[str, str] = {}
    for tensor in tensors:
        if tensor.id in state:
            alias = tensor.alias or f"bytes of {tensor.id}"
            same[alias] = at.setdefault((tensor.memory, tensor.offset, tensor.size_bytes), alias)
    through = []
    for tensor in tensors:
        if tensor.id in state:
            alias = same[tensor.alias or f"bytes of {tensor.id}"]
            through.append(replace(tensor, lower=0, upper=end, alias=alias))
        else:
            through.append(replace(tensor, alias=same.get(tensor.alias, tensor.alias)))
    return through


def _own_peak(methods: Sequence[Method]) -> dict[str, int]:
    """What the runtime takes for each memory: the most that any method asks for."""
    peak: dict[str, int] = {}
    for method in methods:
        for number, size in enumerate(method.sizes):
            if number and size > 0:
                peak[_memory(number)] = max(size, peak.get(_memory(number), 0))
    return peak


def _notes(methods: Sequence[Method], lives: Sequence[Lives]) -> Iterator[str]:
    if len(methods) > 1:
        names = ", ".join(repr(method.name) for method in methods[:MOST_TOLD])
        more = f" and {len(methods) - MOST_TOLD} more" if len(methods) > MOST_TOLD else ""
        yield f"its methods {names}{more} run in one arena: state of one lives through the others"
    if any(i.kind == "delegate" for method in methods for i in method.instructions):
        yield "what delegates hold within themselves is not in the plan"
    if unwritten := sum(len(live.unwritten) for live in lives):
        yield (
            f"{unwritten} tensors are views of what a branch gives, at a place where nothing is"
            f" written: {UNWRITTEN}"
        )
    if any(live.branches for live in lives):
        yield (
            "what one branch makes is kept apart from what the other makes: the least is proven"
            " with that only"
        )
    if unsure := sum(len(live.unsure) for live in lives):
        yield (
            f"{unsure} tensors that a delegate names first, with bytes of their own, may be state"
            " or what it makes: they are taken for state"
        )


def _memory(number: int) -> str:
    return f"memory {number}"


def _program(path: Path) -> FlatTable:
    try:
        if path.stat().st_size > LARGEST_FILE or not path.is_file():
            raise BadInput(f"{path} is not a file of at most {LARGEST_FILE:,} bytes")
        data = path.read_bytes()
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from error
    if data[SIGN_AT : SIGN_AT + len(SIGN)] != SIGN:
        raise BadInput(f"{path} is not an ExecuTorch program: it does not say {SIGN.decode()}")
    return FlatTable.root(str(path), data)


def _method(table: FlatTable) -> Method:
    tensors, lists, false, constants = _values(table)
    instructions = tuple(_instructions(table))
    named = {n for i in instructions if i.kind != "other" for n in i.values}
    return Method(
        table.source,
        f"{table.text(0):.80}",
        tensors,
        lists,
        table.numbers(3, "i"),
        table.numbers(4, "i"),
        instructions,
        table.numbers(8, "q"),
        false - named,
        constants,
    )


def _values(
    method: FlatTable,
) -> tuple[dict[int, PlannedTensor], dict[int, tuple[int, ...]], set[int], dict[int, str]]:
    """The planned tensors by the number of their value, the lists of tensors, what is false, and
    the names of constants."""
    tensors, lists, false, constants, listed = {}, {}, set[int](), dict[int, str](), 0
    for number, value in enumerate(method.tables(2)):
        kind, content = value.number(0, "B"), value.table(1)
        if content is None:
            continue
        if kind == _BOOL and not content.number(0, "B"):
            false.add(number)
        elif kind == _TENSOR:
            tensor = _tensor(number, content)
            if tensor is not None:
                tensors[number] = tensor
            elif _is_constant(content):
                constants[number] = _name(content)
        elif kind in (_TENSOR_LIST, _OPTIONAL_LIST):
            lists[number] = content.numbers(0, "i")
            listed += len(lists[number])
            if listed > MOST_NAMED:
                raise BadInput(f"{method.source}: lists have more than {MOST_NAMED:,} values")
    return tensors, lists, false, constants


def _is_constant(table: FlatTable) -> bool:
    """Whether a tensor without a place has its bytes in the file, or a name in one beside it."""
    return table.table(6) is None and (table.number(5, "I") > 0 or bool(_name(table)))


def _name(tensor: FlatTable) -> str:
    more = tensor.table(9)
    return "" if more is None else f"{more.text(1):.80}"


def _tensor(number: int, table: FlatTable) -> PlannedTensor | None:
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
    name = _name(table)
    state = bool(name) or table.number(5, "I") > 0
    return PlannedTensor(
        rounded_up(size, ALIGNMENT), given.number(0, "I"), offset, state, name, size
    )


def _instructions(method: FlatTable) -> Iterator[Instruction]:
    operators = [f"{o.text(0):.80}" for o in method.tables(6)]
    delegates = [f"delegate {d.text(0):.80}" for d in method.tables(7)]
    number = loops = named = 0
    for each in method.tables(5):
        begin = number
        for instruction in each.tables(2):
            number += 1
            if number + named > MOST_NAMED or loops > MOST_LOOPS:
                raise BadInput(f"{method.source} has too many instructions, or jumps among them")
            kind, content = instruction.number(0, "B"), instruction.table(1)
            if content is None:
                yield Instruction("nothing", (), "other")
            elif kind in (_KERNEL, _DELEGATE):
                names, at = operators if kind == _KERNEL else delegates, content.number(0, "i")
                name = names[at] if 0 <= at < len(names) else f"kernel {at}"
                values = content.numbers(1, "i")
                named += len(values)
                yield Instruction(name, values, "kernel" if kind == _KERNEL else "delegate")
            elif kind == _MOVE:
                yield Instruction("move", (content.number(0, "i"), content.number(1, "i")), "move")
            elif kind == _JUMP:
                target = begin + content.number(1, "i")
                back = target if 0 <= target < number else None
                loops += back is not None
                on = target if target >= number else None
                yield Instruction("jump", (content.number(0, "i"),), "other", back, on)
            else:
                yield Instruction("free", (content.number(0, "i"),), "other")


# ---- Tensors that the network does not name ------------------------------------------------------
# Copies that the exporter makes: a linear layer's weight is transposed into the arena in every run,
# and state is not written in place; its next content is made whole beside it, and copied over it.

TRANSPOSES = frozenset({"aten::permute_copy", "aten::transpose_copy", "aten::t_copy"})
WRITES = frozenset(
    "aten::index_put aten::slice_scatter aten::select_scatter aten::scatter aten::index_copy "
    "aten::scatter_add aten::index_add".split()
)
"""What gives its first operand with some of it written anew."""
OVER = "aten::copy_"


def copies_in(method: Method, live: Lives) -> dict[int, str]:
    """What each such tensor is, by its number, in words."""
    words: dict[int, str] = {}
    written: dict[int, int] = {}
    for instruction in method.instructions:
        values = instruction.values
        if instruction.kind != "kernel" or len(values) < 2:
            continue
        first, output = values[0], values[-1]
        if (
            instruction.name in TRANSPOSES
            and first in method.constants
            and output in method.tensors
        ):
            words[output] = f"a transposed copy of {method.constants[first] or f'constant {first}'}"
        elif instruction.name in WRITES:
            written[output] = first
        elif instruction.name == OVER and first in live.state and _whole(method, *values[:2]):
            state = method.tensors[first].name or f"state {first}"
            is_copy = written.get(values[1]) == first
            words[values[1]] = f"a copy of {state}" if is_copy else f"the next content of {state}"
    return words


def _whole(method: Method, state: int, new: int) -> bool:
    """Whether a tensor has all of what state keeps."""
    tensors = method.tensors
    return new in tensors and tensors[new].own_bytes == tensors[state].own_bytes
