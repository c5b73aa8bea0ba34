"""ExecuTorch programs made by hand, by the numbers of the schema's fields, and drawn by chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import flatbuffers
import numpy as np

FLOAT, BYTE, LONG = 6, 0, 4
BOOL, TENSOR, TENSOR_LIST = 3, 5, 10
KERNEL, DELEGATE, MOVE, JUMP = 1, 2, 3, 4
VIEW = "executorch_prim::et_view"


@dataclass
class PteValue:
    """A tensor with a place (memory, offset), or without; a list of tensors by number; or what is
    false."""

    shape: tuple[int, ...] = ()
    place: tuple[int, int] | None = None
    kind: int = FLOAT
    name: str = ""
    constant: int = 0
    dynamism: int = 0
    items: tuple[int, ...] | None = None
    false: bool = False


@dataclass
class PteWriter:
    """A program with one method, and those of `others`."""

    values: list[PteValue] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    calls: list[tuple[int, str, tuple[int, ...]]] = field(default_factory=list)
    sizes: list[int] = field(default_factory=lambda: [0, 0])
    name: str = "forward"
    others: Sequence[PteWriter] = ()

    def value(self, *given: Any, **more: Any) -> int:
        self.values.append(PteValue(*given, **more))
        return len(self.values) - 1

    def call(self, name: str, *values: int) -> None:
        self.calls.append((KERNEL, name, values))

    def to_bytes(self) -> bytes:
        b = flatbuffers.Builder(1024)
        methods = _tables(b, [each._method(b) for each in (self, *self.others) if each.name])
        b.Finish(_table(b, {0: ("u32", 0), 1: ("ref", methods)}), b"ET12")
        return bytes(b.Output())

    def _method(self, b: Any) -> int:
        names = list(dict.fromkeys(n for kind, n, _ in self.calls if kind == KERNEL))
        backends = list(dict.fromkeys(n for kind, n, _ in self.calls if kind == DELEGATE))
        values = [self._value(b, each) for each in self.values]
        calls = [self._call(b, names, backends, *each) for each in self.calls]
        chains = _tables(b, [_table(b, {2: ("ref", _tables(b, calls))})])
        operators = [_table(b, {0: ("ref", b.CreateString(name))}) for name in names]
        delegates = [_table(b, {0: ("ref", b.CreateString(name))}) for name in backends]
        return _table(
            b,
            {
                0: ("ref", b.CreateString(self.name)),
                2: ("ref", _tables(b, values)),
                3: ("ref", _numbers(b, self.inputs, np.int32)),
                4: ("ref", _numbers(b, self.outputs, np.int32)),
                5: ("ref", chains),
                6: ("ref", _tables(b, operators)),
                7: ("ref", _tables(b, delegates)),
                8: ("ref", _numbers(b, self.sizes, np.int64)),
            },
        )

    def _value(self, b: Any, value: PteValue) -> int:
        if value.items is not None:
            held = _table(b, {0: ("ref", _numbers(b, value.items, np.int32))})
            return _table(b, {0: ("u8", TENSOR_LIST), 1: ("ref", held)})
        if value.false:
            return _table(b, {0: ("u8", BOOL), 1: ("ref", _table(b, {0: ("u8", 0)}))})
        fields: dict[int, tuple[str, int]] = {
            0: ("i8", value.kind),
            2: ("ref", _numbers(b, value.shape, np.int32)),
            5: ("u32", value.constant),
            8: ("i8", value.dynamism),
        }
        if value.place is not None:
            memory, offset = value.place
            low, high = offset & 0xFFFFFFFF, offset >> 32
            given = {0: ("u32", memory), 1: ("u32", low), 2: ("u32", high)}
            fields[6] = ("ref", _table(b, given))
        if value.name:
            fields[9] = ("ref", _table(b, {1: ("ref", b.CreateString(value.name))}))
        return _table(b, {0: ("u8", TENSOR), 1: ("ref", _table(b, fields))})

    def _call(
        self,
        b: Any,
        names: Sequence[str],
        backends: Sequence[str],
        kind: int,
        name: str,
        values: Sequence[int],
    ) -> int:
        if kind in (KERNEL, DELEGATE):
            at = (names if kind == KERNEL else backends).index(name)
            held = _table(b, {0: ("i32", at), 1: ("ref", _numbers(b, values, np.int32))})
        else:
            held = _table(b, {0: ("i32", values[0]), 1: ("i32", values[1])})
        return _table(b, {0: ("u8", kind), 1: ("ref", held)})


_PREPEND = {
    "i8": "PrependInt8Slot",
    "u8": "PrependUint8Slot",
    "i32": "PrependInt32Slot",
    "u32": "PrependUint32Slot",
    "ref": "PrependUOffsetTRelativeSlot",
}


def _table(b: Any, fields: dict[int, tuple[str, int]]) -> int:
    b.StartObject(max(fields) + 1)
    for number, (kind, value) in fields.items():
        getattr(b, _PREPEND[kind])(number, value, 0)
    return int(b.EndObject())


def _tables(b: Any, tables: Sequence[int]) -> int:
    b.StartVector(4, len(tables), 4)
    for at in reversed(tables):
        b.PrependUOffsetTRelative(at)
    return int(b.EndVector())


def _numbers(b: Any, values: Sequence[int], kind: Any) -> int:
    return int(b.CreateNumpyVector(np.array(values, dtype=kind)))


def chain(count: int = 4) -> PteWriter:
    """Tensors each made of the one before, in two places by turns."""
    w = PteWriter(sizes=[0, 64])
    made = [w.value((4,), (1, 32 * (k % 2))) for k in range(count)]
    weight = w.value((4,), constant=1)
    for before, after in zip(made, made[1:]):
        w.call("aten::add", before, weight, after)
    w.inputs, w.outputs = made[:1], made[-1:]
    return w


def drawn(seed: int) -> tuple[PteWriter, dict[int, tuple[int, int]]]:
    """A program drawn by chance, and the first and last step of each of its planned tensors.

    Some of them are state, which is there before anything is written.
    """
    rng, w = Random(seed), PteWriter()
    held = [w.value((rng.randint(1, 9), 2), (rng.randint(1, 2), 16 * k)) for k in range(12)]
    w.value((3,), constant=2)  # weights have no place
    w.inputs, state = held[:2], held[2 : 2 + rng.randint(0, 2)]
    rng.shuffle(held)
    there, steps = [*w.inputs, *state], [tuple(w.inputs)]
    for _ in range(rng.randint(1, 9)):
        reads = tuple(rng.sample(there, rng.randint(1, 2)))
        given = reads if rng.random() < 0.7 else (w.value(items=reads),)
        free = [n for n in held if n not in (*reads, *state)]
        made = tuple(rng.sample(free, rng.choice([1, 1, 2])))
        out = made if len(made) == 1 else (w.value(items=made),)
        kind, name, values = rng.choice(
            [
                (KERNEL, "aten::add.out", (*given, *out, *out)),
                (KERNEL, "aten::max.dim_max", (*given, *made, *out)),
                (KERNEL, "aten::index_put_", (reads[0], *given, reads[0])),
                (DELEGATE, "XnnpackBackend", (*given, w.inputs[0], made[0])),
                (MOVE, "", (reads[0], made[0])),
            ]
        )
        w.calls.append((kind, name, values))
        named = tuple(n for v in values for n in w.values[v].items or (v,))
        there += [n for n in named if n not in there]
        steps.append(named)
    w.outputs = rng.sample(there, 2)
    steps.append(tuple(w.outputs))
    every = [0, len(steps) - 1]
    spans = {n: [k for k, named in enumerate(steps) if n in named] or every for n in held}
    spans |= dict.fromkeys(state, every)
    moves = [(k, *values) for k, (kind, _, values) in enumerate(w.calls, 1) if kind == MOVE]
    for _, source, target in reversed(moves):  # Its bytes are read as those of the target.
        spans[source] = [*spans[source], max(spans[target])]
    for step, _, target in moves:
        if min(spans[target]) == step and target not in state:
            spans[target] = [step]
    return w, {n: (min(found), max(found)) for n, found in spans.items()}
