"""Overlap plans as C code: compiled, run, and held against the plan and the reference.

    python benchmarks/overlap_code.py [MODEL[:SIDE] ...] [--objective macs|ram] [--keep FOLDER]

For each network: the planned pool and `.bss` of model and kernels, code and constants, the
deepest stack (the longest way through gcc's call graph, from model_run), this machine's seconds
of processor time for one run, and whether the outputs are the reference's, byte for byte. Weights
are random.
Where arm-none-eabi-gcc is installed, the same sizes for a Cortex-M4 at -Os.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections import defaultdict
from functools import cache
from pathlib import Path

import planners as sp

MODELS = ("mcunet_vww1", "mcunet_in0", "mcunet_in4", "mobilenet_v2:96", "mobilenet_v3_small:96")
HOST = ("gcc", "size", ["-std=c99", "-O2", "-fno-pie", "-Wall", "-Wextra", "-Wpedantic", "-Werror"])
ARM = (
    "arm-none-eabi-gcc",
    "arm-none-eabi-size",
    ["-std=c99", "-Os", "-mcpu=cortex-m4", "-mthumb", "-Wall", "-Wextra", "-Wpedantic", "-Werror"],
)


def objects(folder: Path, target: tuple[str, str, list[str]]) -> dict[str, list[int]]:
    """Bytes of code and constants, data and zeros of model, kernels and weights, compiled."""
    compiler, size, flags = target
    found = {}
    for name in ("model", "kernels", "weights"):
        more = ["-fcallgraph-info=su"] if name != "weights" else []
        command = [compiler, *flags, *more, "-c", f"{name}.c"]
        subprocess.run(command, cwd=folder, check=True)
        listed = subprocess.run([size, f"{name}.o"], cwd=folder, capture_output=True, text=True)
        found[name] = [int(number) for number in listed.stdout.splitlines()[1].split()[:3]]
    return found


def deepest_stack(folder: Path) -> int:
    """Bytes of stack below model_run, by the longest way through the call graph."""
    frames: dict[str, int] = {}
    calls = defaultdict(set)
    for name in ("model", "kernels"):
        text = (folder / f"{name}.ci").read_text()
        for title, used in re.findall(r'title: "([^"]*)" label: "[^"]*?(\d+) bytes', text):
            frames[title] = int(used)
        for caller, called in re.findall(r'sourcename: "([^"]*)" targetname: "([^"]*)"', text):
            calls[caller].add(called)

    @cache
    def below(function: str) -> int:
        return frames.get(function, 0) + max(map(below, calls[function]), default=0)

    return below("model_run")


def seconds_a_run(folder: Path) -> float:
    """Processor time of one run: twelve, less two."""
    took = []
    for repeats in (2, 12):
        began = os.times().children_user
        command = ["./model", "--repeat", str(repeats)]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        took.append(os.times().children_user - began)
    return (took[1] - took[0]) / 10


def measure(model: str, objective: str, folder: Path) -> bool:
    """One line for one network; whether all is as planned."""
    name, _, side = model.partition(":")
    shape = ((1, 3, int(side), int(side)),) if side else None
    began = time.perf_counter()
    graph = sp.load(name, input_shape=shape)
    plan = sp.plan(graph, "overlap", "10MB", "npu_ideal", 300, replay=False, objective=objective)
    planned = time.perf_counter()
    code = sp.write_code(plan, folder, weights="random")
    sizes = objects(folder, HOST)
    subprocess.run([*HOST[:1], *HOST[2], "-c", "main.c"], cwd=folder, check=True)
    parts = ["main.o", "model.o", "kernels.o", "weights.o"]
    subprocess.run([HOST[0], "-no-pie", "-o", "model", *parts], cwd=folder, check=True)
    printed = subprocess.run(["./model"], cwd=folder, capture_output=True, text=True).stdout
    equal = printed == f"checksum {code.checksum}\n"
    memory = sum(sizes[part][1] + sizes[part][2] for part in ("model", "kernels"))
    lines = sum(len((folder / file).read_text().splitlines()) for file in ("model.c", "kernels.c"))
    print(
        f"{model} ({objective}): pool {plan.claims.objective_bytes}, data + bss {memory}, stack "
        f"{deepest_stack(folder)}, code {sizes['model'][0] + sizes['kernels'][0]} in {lines} "
        f"lines, constants {sizes['weights'][0]}; a run {seconds_a_run(folder) * 1e3:.1f} ms of "
        f"{graph.macs / 1e6:.1f} M MACs, planned in {planned - began:.1f} s; outputs "
        f"{'equal' if equal else 'DIFFER'}",
        flush=True,
    )
    right = equal and memory == plan.claims.objective_bytes
    return right and (not shutil.which(ARM[0]) or cross_built(folder, memory))


def cross_built(folder: Path, memory: int) -> bool:
    """The sizes for a Cortex-M4; whether the memory is the same."""
    sizes = objects(folder, ARM)
    there = sum(sizes[part][1] + sizes[part][2] for part in ("model", "kernels"))
    print(
        f"    Cortex-M4 -Os: data + bss {there}, stack {deepest_stack(folder)}, code "
        f"{sizes['model'][0]} (model) + {sizes['kernels'][0]} (kernels), constants "
        f"{sizes['weights'][0]}",
        flush=True,
    )
    return there == memory


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=list(MODELS))
    parser.add_argument("--objective", choices=("macs", "ram"), default="macs")
    parser.add_argument("--keep", type=Path, help="a folder for the code of each network")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        parent = chosen.keep or Path(temporary)
        wrong = [
            model
            for model in chosen.models
            if not measure(model, chosen.objective, parent / model.replace(":", "_"))
        ]
    if wrong:
        raise SystemExit(f"not as planned: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
