"""Files that Vela 5.2.0 writes of networks drawn by chance: read and audited as it lays them out?

    python benchmarks/vela_files.py [--count 20] [--first 0] [--folder DIR] [--tflm PYTHON]

Each network is compiled for an Ethos-U55, U65 and U85, with none, some or all kinds of its
operators left to the CPU. Where some are the NPU's, the extents of the audit's memories are the
*Allocation Peak Tensor Size* of Vela's listing, without a conflict, and the listing's audit says
the same. Where none is, the head of the arena is that which TensorFlow Lite Micro records, if
`--tflm` names an interpreter with the wheel tflite-micro. All files are read as networks too.
Exits 1 for any that is wrong or refused.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

from exporters import FOLDER
from exporters_parts.environments import python_of
from tflm_written_back import runs

import planners as sp
from planners.audits.readers.tflm import ARENA
from tests.audits.cure.networks import drawn

ACCELERATORS = ("ethos-u55-128", "ethos-u55-256", "ethos-u65-256", "ethos-u85-256", "ethos-u85-512")
LISTED = re.compile(r"Allocation, memory (\w+).*?Allocation Peak Tensor Size: +(\d+) bytes", re.S)


def compiled(vela: Path, network: Path, out: Path, accelerator: str, left: set[str]) -> str:
    """The file that Vela writes into a folder, and what it prints. Raises where it gives up."""
    command = [vela, network, "--accelerator-config", accelerator, "--output-dir", out]
    command += ["--verbose-allocation"]
    if left:
        command += ["--ignore-ops", ",".join(sorted(left))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout


def faults(path: Path, listing: str, tflm: str) -> Iterator[str]:
    """What differs between the audit of a file and what Vela, or the runtime, says."""
    found = sp.audit(path, time_limit=2)
    graph = sp.load(path)
    if found.broken:
        yield f"audit: {found.sentence()}"
    theirs = sorted(int(size) for _, size in LISTED.findall(listing) if int(size))
    if any(op.kind.startswith("custom.") for op in graph.operators):
        ours = sorted(m.peak_bytes or 0 for m in found.memories)
        if ours != theirs:
            yield f"audit: extents {ours}, {theirs} in Vela's listing"
        text = path.with_suffix(".txt")
        text.write_text(listing)
        listed = sorted(m.peak_bytes or 0 for m in sp.audit(text, time_limit=2).memories)
        if listed != theirs:
            yield f"audit of the listing: {listed}, not {theirs}"
    elif tflm:
        (ran,) = runs(tflm, [path], 1)
        if ran.get("head") != found.plan.own_peak[ARENA]:
            head = found.plan.own_peak[ARENA]
            yield f"audit: head {head}, {ran.get('head', ran)} in TensorFlow Lite Micro"


def examine(seed: int, vela: Path, folder: Path, tflm: str, counts: Counter[str]) -> None:
    network, rng = drawn(seed), Random(seed)
    path = network.save(folder / f"{seed}.tflite")
    kinds = sorted({kind for kind, *_ in network.operators})
    ways = (set(), set(rng.sample(kinds, rng.randint(1, len(kinds) - 1))), set(kinds))
    for accelerator, (way, left) in product(ACCELERATORS, enumerate(ways)):
        out = folder / f"{accelerator}-{way}"
        label = f"{seed} {accelerator} {','.join(sorted(left)) or 'all'}"
        try:
            listing = compiled(vela, path, out, accelerator, left)
        except subprocess.CalledProcessError as error:
            counts["not written"] += 1
            print(f"{label}: {(error.stderr or error.stdout).strip().splitlines()[-1][:160]}")
            continue
        file = out / f"{seed}_vela.tflite"
        try:
            wrong = list(faults(file, listing, tflm))
        except sp.SpillwayError as error:
            wrong = [f"refused: {error}".replace(f"{folder}", "")]
        counts["wrong" if wrong else "right"] += 1
        counts["left to the CPU"] += way == 2
        if wrong:
            print(f"{label}: {'; '.join(wrong)[:300]}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=20, help="networks, fifteen files of each")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--tflm", default="", help="a Python with the wheel tflite-micro")
    asked = parser.parse_args()
    os.environ["PYTHONPATH"] = str(Path(__file__).parents[1])
    vela = python_of("vela", asked.folder).with_name("vela")
    folder = asked.folder / "files" / "vela"
    folder.mkdir(parents=True, exist_ok=True)
    counts: Counter[str] = Counter()
    for seed in range(asked.first, asked.first + asked.count):
        examine(seed, vela, folder, asked.tflm, counts)
    print(dict(counts))
    return bool(counts["wrong"])


if __name__ == "__main__":
    raise SystemExit(main())
