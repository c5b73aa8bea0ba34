"""ExecuTorch's own memory plans beside exact ones, and both in its runtime.

    pip install --no-deps executorch==1.5.1 torchao==0.18.0 ruamel.yaml tabulate
    python benchmarks/executorch_plans.py [--all] [--run] [--order] [--rows FILE] [MODEL...]

Float32, not delegated, batch 1, input and output planned. *greedy* is ExecuTorch's default,
*packed* our packing plugged in instead of it, and *least* what the lifetimes in greedy's file
need, where it is proven. With `--run` both programs run on the same inputs, and an output that
differs by a bit ends it with an error. With `--order` the nodes of a third program are in our order
of least peak, packed too. Rows are appended to a file of `--rows`, whose models are not asked anew.
"""

from __future__ import annotations

import argparse
import copy
import json
import logging
import tempfile
import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import prod
from pathlib import Path
from typing import Any

import torch

from planners.allocation.min_capacity import pack_tightest
from planners.audits.conflicts import conflicts
from planners.audits.readers.pte import read_pte
from planners.backends.executorch import least_peak_order, pack_memory
from planners.catalogue.loading import build
from planners.catalogue.names import CLASSIFIERS

MODELS = ("inception_v3", "densenet121", "googlenet", "vit_b_16", "mobilenet_v2")
SHAPE = (1, 3, 224, 224)
INPUTS = 3


@dataclass(frozen=True)
class Compared:
    """Bytes of a model's arena by each planner, what is proven, and whether it ran the same."""

    name: str
    greedy: int
    packed: int
    bound: int
    seconds: float
    same: bool | None
    ordered: int | None

    @property
    def line(self) -> str:
        saved = 1 - self.packed / self.greedy
        proof = "proven" if self.packed == self.bound else f"at least {self.bound:,}"
        ran = {None: "", True: f"{INPUTS} of {INPUTS}", False: "DIFFERENT"}[self.same]
        ordered = "" if self.ordered is None else f"{self.ordered:,}"
        cells = (f"{self.greedy:,}", f"{self.packed:,}", proof, f"{saved:.1%}", ordered, ran)
        return f"| {self.name} | " + " | ".join(cells) + f" | {self.seconds:.2f} |"


def write(edge: Any, algorithm: Any, path: Path, passes: Sequence[Any] = ()) -> float:
    """Write a program whose memory `algorithm` plans; the processor seconds that it took."""
    from executorch.exir import ExecutorchBackendConfig
    from executorch.exir.memory_planning import MemoryPlanningAlgorithmSuite
    from executorch.exir.passes.memory_planning_pass import MemoryPlanningPass

    spent = [0.0]

    def timed(*given: Any) -> Any:
        began = time.process_time()
        result = algorithm(*given)
        spent[0] += time.process_time() - began
        return result

    suite = MemoryPlanningAlgorithmSuite([timed])
    planning = MemoryPlanningPass(memory_planning_algo=suite)
    config = ExecutorchBackendConfig(passes=list(passes), memory_planning_pass=planning)
    path.write_bytes(copy.deepcopy(edge).to_executorch(config).buffer)
    return spent[0]


def peak(path: Path) -> tuple[int, int]:
    """The bytes of a program's arena, as the file says and as its tensors take, and the bound."""
    plan = read_pte(path)
    (memory,) = plan.memories
    tensors = plan.inside(memory)
    if conflicts(tensors) or max(t.stop for t in tensors) != plan.own_peak[memory]:
        raise SystemExit(f"{path}: it is not read as it is")
    return plan.own_peak[memory], pack_tightest([t.lifetime for t in tensors]).bound_bytes


def outputs(path: Path, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    from executorch.runtime import Runtime

    method = Runtime.get().load_program(path).load_method("forward")
    return [method.execute((x,))[0].clone() for x in inputs]


def compared(name: str, folder: Path, run: bool, order: bool) -> Compared:
    from executorch.exir import to_edge
    from executorch.exir.memory_planning import greedy

    module, _ = build({"catalogue": name, "input_shape": [SHAPE]})
    generator = torch.Generator().manual_seed(0)
    inputs = [torch.randn(SHAPE, generator=generator) for _ in range(INPUTS)]
    own, ours, third = (folder / f"{k}.pte" for k in ("greedy", "packed", "ordered"))
    edge = to_edge(torch.export.export(module, (inputs[0],)))
    write(edge, greedy, own)
    seconds = write(edge, pack_memory, ours)
    if order:
        write(edge, pack_memory, third, [least_peak_order])
    same = None
    if run:
        first = outputs(own, inputs)
        others = [outputs(path, inputs) for path in ([ours, third] if order else [ours])]
        same = all(torch.equal(a, b) for other in others for a, b in zip(first, other, strict=True))
    (before, bound), (after, _) = peak(own), peak(ours)
    ordered = peak(third)[0] if order else None
    return Compared(name, before, after, bound, seconds, same, ordered)


def rows_of(path: Path | None) -> dict[str, Compared]:
    """What was found before, by model."""
    if path is None or not path.exists():
        return {}
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {row["name"]: Compared(**row) for row in rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--all", action="store_true", help="all of torchvision's classifiers")
    parser.add_argument("--run", action="store_true", help="run the programs and compare")
    parser.add_argument("--order", action="store_true", help="another program in our order")
    parser.add_argument("--rows", type=Path, help="append rows to this file, and begin with its")
    parser.add_argument("--out", type=Path, help="write the table there too")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    known = rows_of(options.rows)
    lines = ["| model | greedy | packed | least | saved | in order | the same | processor s |"]
    lines.append("|---|--:|--:|---|--:|--:|---|--:|")
    print("\n".join(lines), flush=True)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in options.models or (CLASSIFIERS if options.all else MODELS):
            row = known.get(name)
            if row is None:
                row = compared(name, Path(folder), options.run, options.order)
                if options.rows:
                    with options.rows.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(asdict(row)) + "\n")
            rows.append(row)
            lines.append(row.line)
            print(lines[-1], flush=True)
    lines.append("\n" + summary(rows))
    print(lines[-1])
    if options.out:
        options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    if any(row.same is False for row in rows):
        raise SystemExit("outputs differ")


def summary(rows: Sequence[Compared]) -> str:
    """Count, proofs, what the arenas have less: geometric mean, least and most."""
    ratios = sorted(row.packed / row.greedy for row in rows)
    mean = prod(ratios) ** (1 / len(rows))
    proven = sum(row.packed == row.bound for row in rows)
    return (
        f"{len(rows)} models, {proven} proven, {1 - mean:.1%} less (geometric mean), "
        f"{1 - ratios[-1]:.1%} to {1 - ratios[0]:.1%}; "
        f"{sum(row.same is True for row in rows)} run with the same outputs"
    )


if __name__ == "__main__":
    main()
