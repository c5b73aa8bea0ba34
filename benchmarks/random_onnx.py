"""Random ONNX models: facts beside onnx's reference, plans of every planner valid?

    python benchmarks/random_onnx.py [--count 2000] [--first 0] [--seconds 3600] [--plans]

What is refused, opaque or wrong is printed with its seed and its operators; the last line counts.
Exits 1 where something was wrong.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import planners as sp
from tests.importers.onnx_facts import wrong_facts
from tests.importers.random_onnx import RandomOnnx

PLANNERS = ("cosma", "fusion", "overlap", "streaming")


def examine(seed: int, path: Path, plans: bool, counts: Counter[str]) -> None:
    """One model: every verdict is counted, and printed where it is no success."""
    made = RandomOnnx(seed)
    path.write_bytes(made.model.SerializeToString())

    def tell(what: str, said: object) -> None:
        counts[what] += 1
        kinds = " ".join(node.op_type for node in made.nodes)
        print(f"{seed} {what}: {str(said).splitlines()[0]:.200} | {kinds}")

    try:
        graph = sp.from_onnx(path)
        faults = list(wrong_facts(made, graph))
    except sp.SpillwayError as error:
        return tell("refused", error)
    for fault in faults:
        tell("wrong", fault)
    counts["read right"] += not faults
    if graph.source.get("opaque"):
        tell("opaque", graph.source["opaque"])
    for planner in PLANNERS if plans and graph.operators else ():
        try:
            sp.check(sp.plan(graph, planner, 1 << 18, time_limit=0.5))
            counts[f"{planner} valid"] += 1
        except Exception as error:
            tell(f"{planner} failed", f"{type(error).__name__}: {error}")
    return None


def main() -> int:
    """The models one after the other, as long as there is time."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--plans", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    counts: Counter[str] = Counter()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(given.first, given.first + given.count):
            if time.monotonic() - began > given.seconds:
                break
            examine(seed, Path(folder) / "random.onnx", given.plans, counts)
    print(", ".join(f"{what} {count}" for what, count in sorted(counts.items())))
    return int(any(what.endswith(("wrong", "failed")) for what in counts))


if __name__ == "__main__":
    sys.exit(main())
