"""Random `.tflite` files of what is rarely written: read as LiteRT runs them?

    python benchmarks/tflite_litert.py [open | resized | types] [--count 500] [--first 0]
        [--python PATH]

`open`: converters write one for each size that a file leaves open, whatever it is when the file
runs; some inputs had their batch set by hand (`tests/importers/tflite_open.py`). `resized`: such
files at sizes that are given where they are read, as the runtime's resized inputs. `types`:
elements of two bits to eight bytes, and what the schema has two places for, operator codes, shapes,
options, and constants behind the flatbuffer (`tests/importers/tflite_types.py`).

Type, elements and bytes of every tensor are compared with what LiteRT 2.3 has after a run, in the
environment that `benchmarks/exporters.py` has for it, or where `--python` says; MACs, and bytes of
what it does not run, with what was drawn. Exits 1 for any that is wrong.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

from exporters import FOLDER, Judged, faults
from exporters_parts.environments import PARTS, python_of

import planners as sp
from tests.importers.tflite_open import open_network, resized_network
from tests.importers.tflite_types import typed_files

TOGETHER = 100
"""Seeds whose files one process of the runtime runs."""
Drawn = tuple[Path, int, Mapping[str, int], list[list[int]] | None]
"""A file, its MACs, bytes of its tensors where they are known without a run, and the shapes of its
inputs where they are not the file's."""


def drawn(kind: str, seed: int, folder: Path) -> Iterator[Drawn]:
    if kind == "open":
        net, file = open_network(seed)
        yield file.save(folder / f"{seed}.tflite"), net.macs, {}, None
    elif kind == "resized":
        net, file = resized_network(seed)
        shapes = [list(net.w.tensors[number]["shape"]) for number in net.w.inputs]
        yield file.save(folder / f"{seed}.tflite"), net.macs, {}, shapes
    else:
        for typed, path in typed_files(seed, folder):
            yield path, typed.macs, typed.sizes(), None


def differing(graph: sp.Graph, macs: int, sizes: Mapping[str, int]) -> Iterator[str]:
    """What differs between a graph and what was drawn."""
    if graph.macs != macs:
        yield f"{graph.macs} MACs, {macs} were drawn"
    for name in graph.tensors:
        size = graph.size_bytes(name)
        if size != sizes.get(name, size):
            yield f"{name} has {size} bytes, not {sizes[name]}"


def examine(file: Drawn, oracle: dict[str, Any], counts: Counter[str]) -> None:
    """One file: what came of it is counted, and printed where it is no success."""
    path, macs, sizes, shapes = file
    counts["not run"] += "error" in oracle
    wrong: list[str] = []
    for granularity in ("aten", "fused"):
        try:
            graph = sp.load(path, input_shape=shapes, granularity=granularity)
        except sp.BadInput as error:
            counts["refused"] += 1
            print(f"{path.stem} refused: {error}")
            return
        texts = [*differing(graph, macs, sizes)]
        if "error" not in oracle:
            texts += faults(graph, oracle | {"macs": macs}, Judged())
        wrong += [f"{granularity}: {text}" for text in texts]
    counts["wrong" if wrong else "right"] += 1
    if wrong:
        print(f"{path.stem} wrong, {len(wrong)}: {wrong[0]}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kinds", nargs="*", default=("open", "resized", "types"))
    parser.add_argument("--count", type=int, default=500, help="networks of a kind")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--python")
    asked = parser.parse_args()
    python = asked.python or str(python_of("tensorflow", FOLDER))
    folder, wrong = Path(tempfile.mkdtemp()), 0
    seeds = range(asked.first, asked.first + asked.count)
    for kind in asked.kinds:
        counts: Counter[str] = Counter()
        for start in range(0, len(seeds), TOGETHER):
            some = seeds[start : start + TOGETHER]
            files = [file for seed in some for file in drawn(kind, seed, folder)]
            names = "\n".join(
                f"{path}\t{json.dumps(shapes)}" if shapes else str(path)
                for path, _, _, shapes in files
            )
            command = [python, str(PARTS / "run_litert.py")]
            done = subprocess.run(command, input=names, capture_output=True, text=True, check=True)
            for file, line in zip(files, done.stdout.splitlines(), strict=True):
                examine(file, json.loads(line), counts)
        print(f"{kind}: {dict(counts)}")
        wrong += counts["wrong"]
    return bool(wrong)


if __name__ == "__main__":
    raise SystemExit(main())
