"""Files as eight exporters write them: does Spillway read what their runtimes run?

    python benchmarks/exporters.py [--count 1] [--seed 0] [--exporters NAME ...] [--folder DIR]

Each exporter has an environment of its own (`exporters_parts.environments`), which is made where it
is not there. In it small networks drawn by chance are written, and beside each file what the
runtime has for every tensor when it runs the file as it stands (onnxruntime without optimisation,
LiteRT, eager PyTorch), and MACs by those shapes, counted there without Spillway's code. Every
tensor of the graph must have the type, the elements and the bytes of the tensor of its name, and
the network its MACs, at `aten` and fused. What is there is used again: files are written once.

One line an exporter: files, read right, refused (by message), wrong (with what differs), and files
that the exporter did not write or its runtime does not run. Exits 1 for any that is wrong.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

from exporters_parts.environments import EXPORTERS, PARTS, Exporter, python_of

import planners as sp
from planners.core.element_types import BITS, ONNX_TYPES

FOLDER = Path(tempfile.gettempdir()) / "spillway-exporters"
SHOWN = 6
"""Of each kind of message, the files that are named."""


@dataclass(slots=True)
class Judged:
    """What came of an exporter's files, by their names."""

    right: list[str] = field(default_factory=list)
    refused: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    wrong: dict[str, list[str]] = field(default_factory=dict)
    unwritten: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    compared: int = 0
    unnamed: int = 0


def runtime_tensors(oracle: Mapping[str, Any]) -> dict[str, set[tuple[str, int]]]:
    """Type and elements of each tensor by name, and by its name with its number."""
    found: dict[str, set[tuple[str, int]]] = defaultdict(set)
    for number, (name, shape, dtype, _) in enumerate(oracle["tensors"]):
        here = ONNX_TYPES.get(dtype, dtype)
        for known in (name or f"tensor{number}", f"{name}:{number}"):
            found[known].add((here, prod(shape)))
    return found


def bytes_of(dtype: str, elements: int) -> int:
    return -(-elements * BITS[dtype] // 8)


def faults(graph: sp.Graph, oracle: Mapping[str, Any], judged: Judged) -> Iterator[str]:
    """What differs between a graph and its file in the runtime."""
    known = runtime_tensors(oracle)
    for name, tensor in graph.tensors.items():
        if name not in known:
            judged.unnamed += 1
            continue
        judged.compared += 1
        if (tensor.dtype, tensor.elements) not in known[name]:
            theirs = " or ".join(f"{n} {dtype}" for dtype, n in sorted(known[name]))
            yield f"{name} has {tensor.elements} {tensor.dtype}, not {theirs}"
        elif graph.size_bytes(name) != bytes_of(tensor.dtype, tensor.elements):
            yield f"{name} of {tensor.elements} {tensor.dtype} has {graph.size_bytes(name)} bytes"
    # What weights alone decide is run, and counted, by each operator that reads it.
    most = oracle["macs"] + oracle.get("of_weights", 0) * (len(graph.operators) - 1)
    if not oracle["macs"] <= graph.macs <= most and not oracle["silent"]:
        yield f"{graph.macs} MACs, not {oracle['macs']}"


def judge(told: Path, judged: Judged) -> None:
    """Read one file and compare."""
    oracle = json.loads(told.read_text())
    label = f"{told.parent.name}/{told.stem}"
    if "error" in oracle:
        judged.unwritten[grouped(oracle["error"])].append(label)
        return
    path = told.parent / oracle["file"]
    wrong: list[str] = []
    for granularity in ("aten", "fused"):
        try:
            graph = sp.load(path, input_shape=oracle["input_shape"], granularity=granularity)
        except sp.SpillwayError as error:
            judged.refused[grouped(str(error).replace(f"{path}", "").strip(": "))].append(label)
            return
        except Exception as error:  # which no file may bring about
            wrong.append(f"{granularity}: raises {type(error).__name__}: {error}")
            break
        wrong += [f"{granularity}: {text}" for text in faults(graph, oracle, judged)]
    if wrong:
        judged.wrong[label] = wrong
    else:
        judged.right.append(label)


def grouped(message: str) -> str:
    """A message without names and numbers, so that those of one kind are the same."""
    line = message.splitlines()[0] if message else ""
    return re.sub(r"\d+", "N", re.sub(r"'[^']*'", "'…'", line))[:150]


def write_files(exporter: Exporter, folder: Path, first: int, count: int, seconds: float) -> None:
    """Have its environment write what is not there; a process that dies is begun again."""
    python = python_of(exporter.environment, folder)
    out = folder / "files" / exporter.name
    command = [python, PARTS / exporter.script, out, "--first", first, "--count", count]
    ends = time.monotonic() + seconds
    for _ in range(20):
        left = ends - time.monotonic()
        try:
            done = subprocess.run(
                [*map(str, command)], capture_output=True, text=True, timeout=max(left, 1)
            )
        except subprocess.TimeoutExpired:
            print(f"{exporter.name}: not all are written in {seconds:.0f} s", flush=True)
            return
        if not done.returncode:
            return
        if not out.exists():
            raise SystemExit(f"{exporter.name} writes nothing: {done.stderr[-400:]}")


def report(name: str, judged: Judged) -> None:
    counts = {
        "right": len(judged.right),
        "refused": sum(map(len, judged.refused.values())),
        "wrong": len(judged.wrong),
        "not written or not run": sum(map(len, judged.unwritten.values())),
    }
    files = counts["right"] + counts["refused"] + counts["wrong"]
    told = ", ".join(f"{n} {what}" for what, n in counts.items())
    print(
        f"{name}: {files} files, {told}; {judged.compared} tensors compared, "
        f"{judged.unnamed} of steps within operators",
        flush=True,
    )
    for what, messages in (("refused", judged.refused), ("not written", judged.unwritten)):
        for message, labels in sorted(messages.items()):
            more = f" and {len(labels) - SHOWN} more" if len(labels) > SHOWN else ""
            print(f"    {what} ({', '.join(labels[:SHOWN])}{more}): {message}")
    for label, wrong in judged.wrong.items():
        print(f"    wrong ({label}, {len(wrong)}): {'; '.join(wrong[:3])}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1, help="seeds")
    parser.add_argument("--seed", type=int, default=0, help="the first of them")
    parser.add_argument("--exporters", nargs="*", default=[e.name for e in EXPORTERS])
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--seconds", type=float, default=1800, help="of writing, an exporter")
    parser.add_argument("--read", action="store_true", help="only what is written already")
    asked = parser.parse_args()
    totals: Counter[str] = Counter()
    for exporter in EXPORTERS:
        if exporter.name not in asked.exporters:
            continue
        if not asked.read:
            write_files(exporter, asked.folder, asked.seed, asked.count, asked.seconds)
        judged = Judged()
        for seed in range(asked.seed, asked.seed + asked.count):
            for told in sorted((asked.folder / "files" / exporter.name / str(seed)).glob("*.json")):
                judge(told, judged)
        report(exporter.name, judged)
        totals["wrong"] += len(judged.wrong)
    return bool(totals["wrong"])


if __name__ == "__main__":
    raise SystemExit(main())
