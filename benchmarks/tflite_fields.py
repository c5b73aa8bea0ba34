"""Random `.tflite` files, written with either field for what the schema names twice: read alike?

    python benchmarks/tflite_fields.py [--count 500] [--first 0] [--python PATH]

Operator codes stand in the old field, the new one or both; shapes are given with and without a
signature of open axes. Kinds, MACs (beside a count from the drawn operators, which shares nothing
with `planners`) and the head that `audit` gives are compared with each other, and head and outputs
with those of TensorFlow Lite Micro, which `--python` has, or which is installed in an environment
made for it. What is wrong is printed with its seed; exits 1 for any.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import venv
from collections import Counter
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import planners as sp
from planners.audits.readers.tflm import ARENA, read_tflm
from tests.audits.cure.networks import drawn
from tests.importers.tflite_models import TfliteWriter

RUNTIME = "tflite-micro==0.dev20261023182759"
RUN = Path(__file__).parents[1] / "tests" / "audits" / "cure" / "run_tflm.py"
WAYS = (("both", False), ("old", False), ("new", False), ("both", True), ("new", True))
TOGETHER = 20
"""Networks that one process of the runtime runs, in each of their ways."""


def multiplied(net: TfliteWriter) -> int:
    """MACs of a network, by its operators as they were drawn."""
    total = 0
    for kind, inputs, outputs, _, _ in net.operators:
        out = prod(net.tensors[outputs[0]]["shape"])
        if kind in ("CONV_2D", "FULLY_CONNECTED"):
            total += out * prod(net.tensors[inputs[1]]["shape"][1:])
        elif kind == "DEPTHWISE_CONV_2D":
            total += out * prod(net.tensors[inputs[1]]["shape"][:-1])
    return total


def written(net: TfliteWriter, folder: Path) -> Iterator[Path]:
    for codes, is_open in WAYS:
        net.codes, net.open_batch = codes, is_open
        yield net.save(folder / f"{codes}{'_open' if is_open else ''}.tflite")


def read(path: Path) -> tuple[Any, ...]:
    """What is read of a file."""
    graph = sp.load(path)
    shapes = [t.shape for t in graph.tensors.values()]
    kinds = [(op.kind, op.macs) for op in graph.operators]
    return graph.macs, sp.budgets(graph).MR, kinds, shapes, read_tflm(path).own_peak[ARENA]


def environment(folder: Path) -> str:
    """An interpreter that has the runtime."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", "--pre", RUNTIME], check=True)
    return str(python)


def runs_of(python: str, files: list[Path]) -> list[dict[str, Any]]:
    done = subprocess.run([python, RUN, "2", *files], capture_output=True, text=True, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or len(lines) != len(files):
        raise SystemExit(f"the runtime failed: {done.stderr[-400:]}")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--python")
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    python = asked.python or environment(folder / "venv")
    counts: Counter[str] = Counter()

    def tell(seed: int, said: str) -> None:
        counts["wrong"] += 1
        print(seed, said)

    seeds = range(asked.first, asked.first + asked.count)
    for start in range(0, len(seeds), TOGETHER):
        some, files = seeds[start : start + TOGETHER], []
        for seed in some:
            (folder / str(seed)).mkdir()
            files += written(drawn(seed), folder / str(seed))
        ran = runs_of(python, files)
        for k, seed in enumerate(some):
            mine = slice(k * len(WAYS), (k + 1) * len(WAYS))
            found, theirs = [read(path) for path in files[mine]], ran[mine]
            counts["files"] += len(WAYS)
            for path, one, run in zip(files[mine], found, theirs, strict=True):
                if one != found[0]:
                    tell(seed, f"{path.stem} is read as {one}, not {found[0]}")
                if run != theirs[0]:
                    tell(seed, f"{path.stem} runs as {run}, not {theirs[0]}")
                if one[-1] != run["head"]:
                    tell(seed, f"{path.stem} has a head of {one[-1]} for {run['head']}")
                if one[0] != multiplied(drawn(seed)):
                    tell(seed, f"{path.stem} has {one[0]} MACs for {multiplied(drawn(seed))}")
    print(dict(counts))
    return bool(counts["wrong"])


if __name__ == "__main__":
    raise SystemExit(main())
