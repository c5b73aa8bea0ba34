"""Random `.tflite` files with open and computed sizes: read as LiteRT runs them?

    python benchmarks/tflite_open.py [--count 500] [--first 0] [--python PATH]

Converters write one for each size that a file leaves open, whatever it is when the file runs; some
inputs had their batch set by hand (`tests/importers/tflite_open.py`). Type, elements and bytes of
every tensor and the MACs are compared with what LiteRT 2.3 has after a run, in the environment that
`benchmarks/exporters.py` has for it, or where `--python` says. Exits 1 for any that is wrong.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

from exporters import FOLDER, Judged, faults
from exporters_parts.environments import PARTS, python_of

import planners as sp
from tests.importers.tflite_open import open_network

TOGETHER = 100
"""Files that one process of the runtime runs."""


def examine(path: Path, oracle: dict[str, object], counts: Counter[str]) -> None:
    """One file: what came of it is counted, and printed where it is no success."""
    if "error" in oracle:
        counts["not run"] += 1
        return
    wrong: list[str] = []
    for granularity in ("aten", "fused"):
        try:
            graph = sp.load(path, granularity=granularity)
        except sp.BadInput as error:
            counts["refused"] += 1
            print(f"{path.stem} refused: {error}")
            return
        wrong += [f"{granularity}: {text}" for text in faults(graph, oracle, Judged())]
    counts["wrong" if wrong else "right"] += 1
    if wrong:
        print(f"{path.stem} wrong, {len(wrong)}: {wrong[0]}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--python")
    asked = parser.parse_args()
    python = asked.python or str(python_of("tensorflow", FOLDER))
    folder, counts = Path(tempfile.mkdtemp()), Counter[str]()
    seeds = range(asked.first, asked.first + asked.count)
    for start in range(0, len(seeds), TOGETHER):
        some = seeds[start : start + TOGETHER]
        files = [open_network(seed)[1].save(folder / f"{seed}.tflite") for seed in some]
        command = [python, str(PARTS / "run_litert.py"), *map(str, files)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        for path, line in zip(files, done.stdout.splitlines(), strict=True):
            examine(path, json.loads(line), counts)
    print(dict(counts))
    return bool(counts["wrong"])


if __name__ == "__main__":
    raise SystemExit(main())
