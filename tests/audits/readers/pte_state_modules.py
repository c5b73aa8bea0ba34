"""Modules with state drawn by chance, exported and run by ExecuTorch.

    python pte_state_modules.py make FOLDER FIRST COUNT
    python pte_state_modules.py run FOLDER FIRST COUNT

`make` writes SEED.pte. `run` runs each for five rounds over all its methods, with the exporter's
own plan and with those of SEED.NAME.csv, and prints a line of JSON: whether the outputs are those
of the exporter's plan to the bit, and those of the module itself nearly.
"""

from __future__ import annotations

import copy
import csv
import json
import logging
import sys
import warnings
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any

import torch

ROUNDS = 5
BETWEEN = 512.0
"""What inputs sum up to, nearly: of some rounds more, of others less."""
Step = tuple[str, int]


def _sines(x: torch.Tensor) -> torch.Tensor:
    return torch.sin(x) * 0.5


def _sums(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x + x.sum() * 0.001) * 0.5


def _either(x: torch.Tensor) -> torch.Tensor:
    return torch.cond(x.mean() > 0.4, _sums, _sines, (x * 0.9,)) + 0.1


def _grown(kept: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return kept + torch.cos(x[: len(kept), :4])


def _halved(kept: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return kept * 0.5


def _top(kept: torch.Tensor) -> torch.Tensor:
    return kept[:1, :4].sum()


def _all(kept: torch.Tensor) -> torch.Tensor:
    return torch.tanh(kept).sum()


class Drawn(torch.nn.Module):
    """A chain of maps between which buffers are read and written, each in a way of its own."""

    def __init__(self, name: str, buffers: Sequence[torch.Tensor], steps: Sequence[Step]) -> None:
        super().__init__()
        for number, buffer in enumerate(buffers):
            self.register_buffer(f"{name}_{number}", buffer)
        self.name, self.steps = name, steps

    def forward(self, x: torch.Tensor, row: torch.Tensor) -> tuple[torch.Tensor, ...]:
        more: list[torch.Tensor] = []
        for name, number in self.steps:
            kept = getattr(self, f"{self.name}_{number}", None)
            match name:
                case "maps":
                    x = torch.relu(x.repeat(1, 4) * 0.5)[:, : x.shape[1]] + 0.25
                case "flat":
                    x = torch.sin(x.reshape(-1)).reshape(x.shape)
                case "add":
                    kept.add_(x.sum(0)[:4])
                case "scale":
                    kept.mul_(0.5)
                case "read":
                    x = x + kept[:1, :4].sum() * 0.125
                case "row":
                    kept[1:2] = x[:1, :4]
                case "put":
                    kept.index_put_((row,), x[:1, :4])
                case "copy":
                    kept.index_copy_(0, row, x[:1, :4])
                case "shift":
                    kept.copy_(torch.cat([kept[1:], x[:1, :4]]))
                case "whole":
                    kept.copy_(torch.cos(x[: len(kept), :4]))
                case "view":
                    x = x + torch.tanh(kept.reshape(-1)).sum() * 0.125
                case "return":
                    more.append(kept * 1.0)
                case "branch":
                    x = torch.cond(x.sum() > BETWEEN, _sines, _sums, (x,))
                case "branch_of_state":
                    kept.copy_(torch.cond(x.sum() > BETWEEN, _grown, _halved, (kept, x)))
                case "branch_reads":
                    x = x + torch.cond(x.sum() > BETWEEN, _top, _all, (kept,)) * 0.125
                case "branch_in_branch":
                    x = torch.cond(x.sum() > BETWEEN, _sums, _either, (x,))
        return (x * 2.0, *more)


BUFFERED = ("add", "scale", "read", "row", "put", "copy", "shift", "whole", "view", "return")


BRANCHES = ("branch", "branch", "branch_of_state", "branch_reads", "branch_in_branch")


def drawn_steps(rng: Random, buffers: int, branching: bool) -> list[Step]:
    steps = [
        (rng.choice(BUFFERED), rng.randrange(buffers))
        if rng.random() < 0.55
        else (rng.choice(["maps", "maps", "flat"]), 0)
        for _ in range(rng.randint(3, 9))
    ]
    if branching:
        for _ in range(rng.randint(1, 3)):
            branch = (rng.choice(BRANCHES), rng.randrange(buffers))
            steps.insert(rng.randint(0, len(steps)), branch)
    return steps


def drawn(seed: int) -> tuple[dict[str, Drawn], dict[str, Any]]:
    """Methods over the same buffers or buffers of their own, and settings of the exporter."""
    rng = Random(seed)

    def buffers() -> list[torch.Tensor]:
        count = rng.randint(1, 3)
        rows = [rng.choice([2, 8, 64]) for _ in range(count)]
        return [torch.zeros(n, 4) for n in rows]

    settings = {
        "shared": rng.random() < 0.5,
        "reinplace": rng.random() < 0.4,
        "named": rng.random() < 0.2,
        "views": rng.random() < 0.7,
        "inputs": rng.random() < 0.8,
        "outputs": rng.random() < 0.8,
        "xnnpack": rng.random() < 0.3,
    }
    kept, branching = buffers(), seed % 3 == 2
    methods = {"forward": Drawn("kept", kept, drawn_steps(rng, len(kept), branching))}
    if rng.random() < 0.35:  # Where it is told to, the exporter takes buffers of one name for one.
        name, other = ("kept", kept) if rng.random() < 0.4 else ("own", buffers())
        if not settings["shared"]:
            other = [buffer.clone() for buffer in other]
        methods["other"] = Drawn(name, other, drawn_steps(rng, len(other), branching))
    return methods, settings


def given(turn: int) -> tuple[torch.Tensor, torch.Tensor]:
    rng = torch.Generator().manual_seed(turn)
    return torch.rand(64, 16, generator=rng), torch.tensor([turn % 2])


def exported(seed: int) -> Any:
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import ExecutorchBackendConfig, to_edge_transform_and_lower
    from executorch.exir.passes import MemoryPlanningPass

    methods, asked = drawn(seed)
    programs = {name: torch.export.export(m, given(0)) for name, m in methods.items()}
    parts = [XnnpackPartitioner()] if asked["xnnpack"] else []
    planning = MemoryPlanningPass(
        alloc_graph_input=asked["inputs"],
        alloc_graph_output=asked["outputs"],
        share_mutable_buffers=asked["shared"],
    )
    config = ExecutorchBackendConfig(
        memory_planning_pass=planning,
        run_reinplace_pass=asked["reinplace"],
        emit_mutable_buffer_names=asked["named"],
        remove_view_copy=asked["views"],
    )
    return to_edge_transform_and_lower(programs, partitioner=parts).to_executorch(config)


def make(folder: Path, seed: int) -> None:
    path, why = folder / f"{seed}.pte", folder / f"{seed}.refused"
    if path.exists() or why.exists():
        return
    try:
        path.write_bytes(exported(seed).buffer)
    except Exception as error:  # The exporter's own limits are no subject here.
        why.write_text(f"{type(error).__name__}: {str(error).splitlines()[0]:.100}")


def laid(path: Path, rows: Path) -> bytes:
    """The program with its tensors where the rows say."""
    from executorch.exir._serialize._program import (
        PTEFile,
        deserialize_pte_binary,
        serialize_pte_binary,
    )

    read = deserialize_pte_binary(path.read_bytes())
    program = copy.deepcopy(getattr(read, "program", read))
    several = len(program.execution_plan) > 1
    size: dict[int, int] = {}
    with rows.open() as file:
        offsets = {row["id"]: int(row["offset"]) for row in csv.DictReader(file)}
    for plan in program.execution_plan:
        for number, value in enumerate(plan.values):
            at = offsets.get(f"{plan.name}/{number}" if several else str(number))
            if at is not None:
                place = value.val.allocation_info
                place.memory_offset_low = at
                stop = at + bytes_of(value.val)
                size[place.memory_id] = max(size.get(place.memory_id, 0), stop)
    for plan in program.execution_plan:
        for memory, stop in size.items():
            if memory < len(plan.non_const_buffer_sizes):
                plan.non_const_buffer_sizes[memory] = -(-stop // 16) * 16
    kept = {name: value for name, value in vars(read).items() if name != "program"}
    return bytes(serialize_pte_binary(pte_file=PTEFile(program=program, **kept)))


def bytes_of(tensor: Any) -> int:
    """As large as any element type is: the file's own are 1, 4 and 8 bytes."""
    wide = {"LONG": 8, "BOOL": 1, "FLOAT": 4, "INT": 4}[tensor.scalar_type.name]
    count = wide
    for n in tensor.sizes:
        count *= n
    return -(-count // 16) * 16


def outputs(data: bytes, path: Path, names: list[str]) -> list[str]:
    from executorch.runtime import Runtime

    path.write_bytes(data)
    program = Runtime.get().load_program(path)
    methods = [program.load_method(name) for name in names]
    seen = []
    for turn in range(ROUNDS):
        for method in methods:
            found = method.execute(list(given(turn)))
            seen.append([o.flatten().tolist() for o in found])
    return [repr(each) for each in seen]


def eager(seed: int, names: list[str]) -> list[list[list[float]]]:
    methods, _ = drawn(seed)
    return [
        [o.flatten().tolist() for o in methods[name](*given(turn))]
        for turn in range(ROUNDS)
        for name in names
    ]


def near(ran: list[str], wanted: list[list[list[float]]]) -> bool:
    found = [json.loads(each) for each in ran]
    pairs = [
        (x, y)
        for one, other in zip(found, wanted, strict=True)
        for x, y in zip(chain(*one), chain(*other), strict=True)
    ]
    return all(abs(x - y) <= 1e-3 * (1 + abs(y)) for x, y in pairs)


def run(folder: Path, seed: int) -> None:
    path = folder / f"{seed}.pte"
    if not path.exists():
        return
    names = list(drawn(seed)[0])
    wanted = eager(seed, names)
    own = outputs(path.read_bytes(), folder / "run.pte", names)
    line = {"seed": seed, "eager": near(own, wanted)}
    for rows in sorted(folder.glob(f"{seed}.*.csv")):
        ran = outputs(laid(path, rows), folder / "run.pte", names)
        line[rows.suffixes[-2]] = [ran == own, near(ran, wanted)]
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    act = {"make": make, "run": run}[sys.argv[1]]
    start, count = int(sys.argv[3]), int(sys.argv[4])
    for each in range(start, start + count):
        act(Path(sys.argv[2]), each)
