"""ExecuTorch's own memory plans beside exact ones, and both in its runtime.

    pip install --no-deps executorch==1.5.1 torchao==0.18.0 ruamel.yaml tabulate
    python benchmarks/executorch_plans.py [--run] [--out table.md] [MODEL...]

Float32, not delegated, batch 1, input and output planned. *greedy* is ExecuTorch's default,
*packed* our packing plugged in instead of it, and *least* what the lifetimes in greedy's file
need, where it is proven. With `--run` both programs run on the same inputs, and an output that
differs by a bit ends it with an error.
"""

from __future__ import annotations

import argparse
import logging
import tempfile
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import torch

from planners.allocation.tightest import pack_tightest
from planners.audits.foreign import conflicts
from planners.audits.readers.pte import read_pte
from planners.backends.executorch import pack_memory
from planners.catalogue.loading import build

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

    @property
    def line(self) -> str:
        saved = 1 - self.packed / self.greedy
        proof = "proven" if self.packed == self.bound else f"at least {self.bound:,}"
        ran = {None: "", True: f"{INPUTS} of {INPUTS}", False: "DIFFERENT"}[self.same]
        cells = (f"{self.greedy:,}", f"{self.packed:,}", proof, f"{saved:.1%}", ran)
        return f"| {self.name} | " + " | ".join(cells) + f" | {self.seconds:.2f} |"


def write(exported: Any, algorithm: Any, path: Path) -> float:
    """Write a program whose memory `algorithm` plans; the processor seconds that it took."""
    from executorch.exir import ExecutorchBackendConfig, to_edge
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
    config = ExecutorchBackendConfig(memory_planning_pass=planning)
    path.write_bytes(to_edge(exported).to_executorch(config).buffer)
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


def compared(name: str, folder: Path, run: bool) -> Compared:
    from executorch.exir.memory_planning import greedy

    module, _ = build({"catalogue": name, "input_shape": [SHAPE]})
    generator = torch.Generator().manual_seed(0)
    inputs = [torch.randn(SHAPE, generator=generator) for _ in range(INPUTS)]
    own, ours = folder / f"{name}_greedy.pte", folder / f"{name}_packed.pte"
    exported = torch.export.export(module, (inputs[0],))
    write(exported, greedy, own)
    seconds = write(exported, pack_memory, ours)
    same = None
    if run:
        pairs = zip(outputs(own, inputs), outputs(ours, inputs), strict=True)
        same = all(torch.equal(a, b) for a, b in pairs)
    (before, bound), (after, _) = peak(own), peak(ours)
    return Compared(name, before, after, bound, seconds, same)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=MODELS, metavar="MODEL")
    parser.add_argument("--run", action="store_true", help="run both programs and compare")
    parser.add_argument("--out", type=Path, help="write the table there too")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    lines = ["| model | greedy | packed | least | saved | outputs the same | processor s |"]
    lines.append("|---|--:|--:|---|--:|---|--:|")
    print("\n".join(lines), flush=True)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in options.models:
            rows.append(compared(name, Path(folder), options.run))
            lines.append(rows[-1].line)
            print(lines[-1], flush=True)
    ratio = prod(row.packed / row.greedy for row in rows) ** (1 / len(rows))
    proven = sum(row.packed == row.bound for row in rows)
    lines.append(f"\n{len(rows)} models, {proven} proven, {1 - ratio:.1%} less (geometric mean)")
    print(lines[-1])
    if options.out:
        options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    if any(row.same is False for row in rows):
        raise SystemExit("outputs differ")


if __name__ == "__main__":
    main()
