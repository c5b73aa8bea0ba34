"""Programs of all planners, and one thing changed in them: what may be wrong with a program."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache

import torch
from torch import nn

import planners as sp
from planners.core.loops import expanded, moved, numbers
from planners.core.program import Compute, Instruction, Load, Operand, Piece, Program, Store
from tests.simulator import looped

Case = tuple[sp.Graph, Program, sp.Machine | None]


class Residual(nn.Module):
    """Windows in groups and with strides, a sum, a join, a resize, a mean and a product."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Conv2d(3, 8, 3, padding=1)
        self.b = nn.Conv2d(8, 8, 3, padding=1, groups=4)
        self.c = nn.Conv2d(8, 16, 3, stride=2)
        self.d = nn.Linear(16, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.a(x).relu()
        z = self.b(y) + y
        w = torch.cat([z, y[:, :4]], 1)[:, :8]
        w = nn.functional.interpolate(self.c(w), scale_factor=2.0)
        return self.d(w.mean((2, 3)))  # type: ignore[no-any-return]


class Attention(nn.Module):
    """Products of activations, views and a norm."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out, self.norm = nn.Linear(16, 48), nn.Linear(16, 16), nn.LayerNorm(16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
        return x + self.out((q @ k.transpose(-1, -2)).softmax(-1) @ v)  # type: ignore[no-any-return]


_PLANS = (
    ("residual", "cosma", "MR", {"parameters": True}),
    ("residual", "fusion", "3KiB", {}),
    ("residual of few pixels", "overlap", "2KiB", {}),
    ("residual", "streaming", "20KiB", {}),
    ("attention", "cosma", "MR", {}),
    ("attention", "fusion", "1500B", {}),
    ("attention", "overlap", "2KiB", {}),
    ("attention", "streaming", "20KiB", {}),
    ("wide", "fusion", "1500B", {}),
    ("attention as it is", "fusion", "4KiB", {}),
)


NAMES = (*(f"{name}, {planner}" for name, planner, _, _ in _PLANS), *looped.NAMES)
"""Of all cases, which are made when the first test asks for one."""


@cache
def cases() -> dict[str, Case]:
    """Plans of every planner, and programs with loops, sums and parts."""
    torch.manual_seed(0)
    half = nn.Sequential(nn.Conv2d(4, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 12, 3)).half()
    inputs = {
        "residual": (Residual(), torch.randn(1, 3, 12, 12), 1),
        "residual of few pixels": (Residual(), torch.randn(1, 3, 8, 8), 1),
        "attention": (Attention(), torch.randn(1, 8, 16), 1),
        "wide": (half, torch.randn(1, 4, 10, 10).half(), "native"),
        "attention as it is": (Attention(), torch.randn(1, 8, 16), "native"),
    }
    found: dict[str, Case] = {}
    for name, planner, budget, options in _PLANS:
        module, x, width = inputs[name]
        graph = sp.from_torch(module.eval(), (x,), bytes_per_element=width)
        plan = sp.plan(graph, planner, budget, time_limit=600, replay=False, **options)
        found[f"{name}, {planner}"] = graph, plan.program, plan.machine
    for name, (graph, program) in looped.cases().items():
        found[name] = graph, program, None
    assert tuple(found) == NAMES
    return found


def flat(program: Program) -> Program:
    """The program with every round written out."""
    return replace(program, instructions=tuple(program.instructions))


def changed(case: Case, dice: random.Random) -> Program:
    """The program of a case with one thing changed: an instruction, its place, or a memory."""
    graph, program, _ = case
    items = list(program.instructions)
    at = dice.randrange(len(items))
    match dice.choice("number number drop twice swap later field field field memory".split()):
        case "number":
            by = [0] * len(numbers(items[at]))
            by[dice.randrange(len(by))] = dice.choice((-64, -16, -2, -1, 1, 2, 16, 64))
            (items[at],) = expanded([moved(items[at], tuple(by), 1)])
        case "drop":
            del items[at]
        case "twice":
            items.insert(dice.randrange(len(items)), items[at])
        case "swap":
            to = min(at + 1, len(items) - 1)
            items[at], items[to] = items[to], items[at]
        case "later":
            item = items.pop(at)
            items.insert(max(0, at + dice.randrange(-6, 7)), item)
        case "field":
            items[at] = _field(items[at], graph, program, dice)
        case "memory":
            program = _memory(program, dice)
    return replace(program, instructions=tuple(items))


def _field(
    item: Instruction, graph: sp.Graph, program: Program, dice: random.Random
) -> Instruction:
    tensor, operator = dice.choice(list(graph.tensors)), dice.choice(graph.operators).name
    what = dice.choice("step engine size memory tensor operator macs frees sums parts".split())
    if what == "step":
        return replace(item, step=item.step + dice.choice((-1, 1)))
    if isinstance(item, Compute):
        every = [*item.reads, *item.writes]
        if what in ("size", "memory", "tensor") and every:
            which = dice.randrange(len(every))
            (name, box), region = every[which]
            if what == "tensor":
                every[which] = Operand(Piece(tensor, box), region)
            elif what == "size":
                region = region._replace(size_bytes=region.size_bytes + dice.choice((-1, 1)))
                every[which] = Operand(Piece(name, box), region)
            else:
                region = region._replace(memory=dice.choice(program.memories).name)
                every[which] = Operand(Piece(name, box), region)
            reads = tuple(every[: len(item.reads)])
            return replace(item, reads=reads, writes=tuple(every[len(item.reads) :]))
        match what:
            case "operator":
                return replace(item, operator=operator)
            case "engine":
                return replace(item, engine=dice.choice(("dma_in", "nothing")))
            case "macs":
                return replace(item, macs=item.macs + dice.choice((-1, 1)))
            case "frees":
                one = dice.randrange(-1, len(item.reads) + 1)
                return replace(item, frees=tuple(sorted({*item.frees} ^ {one})))
            case "sums":
                return replace(item, sums=dice.choice((None, (0, 1), (4, 8), (0, 8), (-3, -1))))
            case "parts":
                whole = tuple(write.piece.box for write in item.writes)
                return replace(item, parts=dice.choice(((), whole, item.parts[:-1])))
    if isinstance(item, (Load, Store)):
        side = dice.choice(("source", "target"))
        region = getattr(item, side)
        match what:
            case "size":
                region = region._replace(size_bytes=region.size_bytes + dice.choice((-1, 1)))
                return replace(item, **{side: region})
            case "memory":
                memory = dice.choice(program.memories).name
                return replace(item, **{side: region._replace(memory=memory)})
            case "tensor":
                return replace(item, piece=Piece(tensor, item.piece.box))
            case "engine":
                engine = dice.choice(("compute", "dma_in", "dma_out", "nothing"))
                return replace(item, engine=engine)
    return item


def _memory(program: Program, dice: random.Random) -> Program:
    memories = list(program.memories)
    at = dice.randrange(len(memories))
    memory = memories[at]
    match dice.choice(("size", "base", "ring")):
        case "size" if memory.size_bytes:
            size = max(1, memory.size_bytes + dice.choice((-16, -1, 1, 16)))
            memories[at] = replace(memory, size_bytes=size)
        case "base":
            memories[at] = replace(memory, base=max(0, memory.base + dice.choice((-8, -1, 1))))
        case "ring":
            memories[at] = replace(memory, circular=not memory.circular)
    return replace(program, memories=tuple(memories))
