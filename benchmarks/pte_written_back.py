"""Plans that `audit` gives for ExecuTorch programs with state, run by ExecuTorch: the same outputs?

    python benchmarks/pte_written_back.py [--count 300] [--first 0] [--folder DIR] [--python PATH]

Modules with buffers that are read and written late, in place, by rows, through views, by delegates,
in branches and by several methods are drawn with a seed
(`tests/audits/readers/pte_state_modules.py`) and exported in an environment with ExecuTorch, which
is made in the folder unless `--python` has one. For each, the figure of `audit` is compared with
the file's own, and two placements of the tensors, the better one that `--out` writes and a first
fit in an order drawn by chance, run there for five rounds over all methods. What is exported stays
in the folder: a run that is broken off goes on.

The exporter's own plans are not always right: methods overwrite each other's state, what is written
in place is let go too early. Of such a program, whose outputs are not the module's, `audit` is to
say that it is broken, and the placements are right where their outputs are the module's; it counts
those that cannot be mended, where the program itself reads what nothing has written. Prints each
that is wrong; exits 1 for any.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import venv
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import planners as sp
from planners.audits.conflicts import conflicts
from planners.audits.foreign import ForeignPlan
from planners.audits.readers.by_format import write_table
from planners.audits.readers.pte import UNWRITTEN
from planners.audits.verdict.audit import Audit

PACKAGES = ("executorch==1.5.1", "torchao==0.18.0", "ruamel.yaml", "tabulate")
NEEDED = ("torch==2.13.0", "flatbuffers", "pyyaml", "numpy", "pandas", "scikit-learn")
ROOT = Path(__file__).parents[1]
MODULES = ROOT / "tests" / "audits" / "readers" / "pte_state_modules.py"
TOGETHER = 10


def environment(folder: Path) -> str:
    """An interpreter that has ExecuTorch."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        pip = [python, "-m", "pip", "install", "-q"]
        subprocess.run([*pip, "-c", ROOT / "constraints.txt", *NEEDED], check=True)
        subprocess.run([*pip, "--no-deps", *PACKAGES], check=True)
    return str(python)


def first_fit(plan: ForeignPlan, seed: int) -> ForeignPlan:
    """Tensors one after the other, in an order drawn by chance, each at the lowest free place."""
    rng, placed = random.Random(seed), {}
    for memory in plan.memories:
        merged = list(plan.inside(memory))
        rng.shuffle(merged)
        there: list[tuple[int, int, int, int]] = []
        for tensor in merged:
            at = 0
            for low, stop, lower, upper in sorted(there):
                together = lower < tensor.upper and tensor.lower < upper
                if together and low < at + tensor.size_bytes and at < stop:
                    at = stop
            there.append((at, at + tensor.size_bytes, tensor.lower, tensor.upper))
            placed[memory, tensor.alias or tensor.id] = at
    tensors = (replace(t, offset=placed[t.memory, t.alias or t.id]) for t in plan.tensors)
    return replace(plan, tensors=tuple(tensors))


def audited(folder: Path, seed: int, found: Audit) -> Iterator[str]:
    """What is wrong before anything runs; the placements are left as tables."""
    for memory in found.memories:
        own = found.plan.own_peak.get(memory.memory)
        if own is not None and memory.peak_bytes is not None and memory.peak_bytes > own:
            yield f"extent {memory.peak_bytes:,} of {memory.memory}, its own {own:,}"
    for name, plan in (("better", found.better()), ("odd", first_fit(found.plan, seed))):
        if any(conflicts(plan.inside(memory)) for memory in plan.memories):
            yield f"the {name} placement has conflicts"
        with (folder / f"{seed}.{name}.csv").open("w") as file:
            write_table(file, plan.tensors)


WORDS = (
    "programs",
    "that the exporter refuses",
    "whose own plan computes something else",
    "of them told",
    "mended",
    "wrong",
)


def judged(ran: dict[str, Any], broken: bool, seen: Counter[str]) -> Iterator[str]:
    """What is wrong in what ExecuTorch computes, by its own plan and by ours."""
    ours = [ran[f".{name}"] for name in ("better", "odd")]
    if ran["eager"]:
        if not all(as_own for as_own, _ in ours):
            yield "a placement computes something else"
        return
    seen["whose own plan computes something else"] += 1
    seen["of them told"] += broken
    seen["mended"] += all(as_module for _, as_module in ours)
    if not broken and not all(as_own or as_module for as_own, as_module in ours):
        yield "a placement computes something else again"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--python")
    asked = parser.parse_args()
    folder = asked.folder or Path(tempfile.mkdtemp())
    folder.mkdir(exist_ok=True)
    python = asked.python or environment(folder / "executorch")
    seen: Counter[str] = Counter()
    for first in range(asked.first, asked.first + asked.count, TOGETHER):
        seeds = range(first, min(first + TOGETHER, asked.first + asked.count))
        here = [str(folder), str(first), str(len(seeds))]
        subprocess.run([python, MODULES, "make", *here], check=True, capture_output=True)
        faults: dict[int, list[str]] = {}
        broken = set()
        for seed in seeds:
            if (folder / f"{seed}.pte").exists():
                seen["programs"] += 1
                found = sp.audit(folder / f"{seed}.pte")
                faults[seed] = list(audited(folder, seed, found))
                told = found.broken or any(UNWRITTEN in note for note in found.plan.notes)
                broken |= {seed} if told else set()
            else:
                seen["that the exporter refuses"] += 1
        done = subprocess.run([python, MODULES, "run", *here], capture_output=True, text=True)
        ran = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        if {each["seed"] for each in ran} != set(faults):
            raise SystemExit(f"ExecuTorch did not run all: {done.stderr[-400:]}")
        for each in ran:
            faults[each["seed"]] += judged(each, each["seed"] in broken, seen)
        for seed, texts in faults.items():
            seen["wrong"] += bool(texts)
            for text in texts:
                print(f"{seed}: {text}", flush=True)
    print(", ".join(f"{seen[what]} {what}" for what in WORDS))
    return bool(seen["wrong"])


if __name__ == "__main__":
    sys.exit(main())
