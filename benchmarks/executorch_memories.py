"""Two memories, a fast and a slow one: ExecuTorch's `BankedGreedy` beside our packing.

    pip install --no-deps executorch==1.5.1 torchao==0.18.0 ruamel.yaml tabulate
    python benchmarks/executorch_memories.py [--out table.md] [MODEL...]

Float32, not delegated, batch 1, input and output planned; the fast memory has a half and a quarter
of what ExecuTorch's default needs in one. What counts is the bytes that are read and written in
the slow one while the network runs; ends with an error where ours are more.
"""

from __future__ import annotations

import argparse
import logging
import time
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import torch

from planners.backends.executorch import PackMemory
from planners.catalogue.loading import build

MODELS = ("mobilenet_v2", "googlenet", "densenet121", "inception_v3", "resnet50")
SHAPE = (1, 3, 224, 224)
SLOW_BYTES = 1 << 30
PARTS = (2, 4)
HEADER = "| model | fast, bytes | `BankedGreedy` | ours | no plan below | processor s |"


def compared(name: str, time_limit_s: float) -> Iterator[tuple[str, bool]]:
    """A line of the table for each size of the fast memory, and whether ours is no worse."""
    from executorch.exir import ExecutorchBackendConfig, to_edge
    from executorch.exir.banked_memory_planning import Bank, BankedGreedy, TargetMemoryMap
    from executorch.exir.memory_planning import MemoryPlanningAlgorithmSuite, greedy
    from executorch.exir.passes.memory_planning_pass import MemoryPlanningPass

    module, _ = build({"catalogue": name, "input_shape": [SHAPE]})
    exported = torch.export.export(module, (torch.randn(SHAPE),))
    lines: list[tuple[str, bool]] = []

    def both(alignment: int, specs: Iterable[Any], *given: Any) -> Any:
        own = greedy(alignment, specs, *given)
        for part in PARTS:
            fast = own.bufsizes[1] // part
            banks = TargetMemoryMap([Bank("fast", fast, 1), Bank("slow", SLOW_BYTES, 2)])
            theirs = BankedGreedy(banks)(alignment, specs, *given)
            began = time.process_time()
            ours = PackMemory({1: fast, 2: SLOW_BYTES}, time_limit_s=time_limit_s)
            asked, found = ours.found(alignment, specs, *given)
            seconds = time.process_time() - began
            before = sum(
                asked.touched[id]
                for id, s in asked.specs.items()
                if theirs.spec_dict[s].mem_id == 2
            )
            after, bound = found.slow_bytes, found.bound_bytes
            proof = "proven" if found.proven else f"{bound:,}"
            cells = (f"{fast:,}", f"{before:,}", f"{after:,}", proof, f"{seconds:.1f}")
            lines.append((f"| `{name}` | " + " | ".join(cells) + " |", after <= before))
        return own

    suite = MemoryPlanningAlgorithmSuite([both])
    planning = MemoryPlanningPass(memory_planning_algo=suite)
    to_edge(exported).to_executorch(ExecutorchBackendConfig(memory_planning_pass=planning))
    yield from lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=MODELS, metavar="MODEL")
    parser.add_argument("--time-limit", type=float, default=20.0, help="seconds for each plan")
    parser.add_argument("--out", type=Path, help="write the table there too")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    lines, worse = [HEADER, "|---|--:|--:|--:|--:|--:|"], 0
    print("\n".join(lines), flush=True)
    for name in options.models:
        for line, good in compared(name, options.time_limit):
            lines.append(line)
            worse += not good
            print(line, flush=True)
    if options.out:
        options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    if worse:
        raise SystemExit(f"{worse} plans are worse than BankedGreedy's")


if __name__ == "__main__":
    main()
