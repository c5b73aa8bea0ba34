"""Heads of `.tflite` files, and plans that `apply` writes, in TensorFlow Lite Micro itself.

    python benchmarks/tflm_written_back.py [--count 300] [--first 0] [--kernels] [--python PATH]

Files of kernels that ask for scratch, of all types, ranks and axes, of layers that keep state, some
of it placed by the file, and of operators that the runtime refuses are drawn with a seed
(`tests/audits/cure/drawn_kernels.py`); with `--kernels` every kernel alone is taken too, over each
element type of what it reads and gives (`kernels_by_type.py` beside it; heads and refusals). In an
environment with the runtime, which is made unless `--python` has it, each is run for five steps.
Wrong is a head of `audit` that is not the runtime's, a file that one refuses and the other does
not, a plan of a file that changes what the file without it computes and of which no conflict is
told, and a plan of `apply`, without and with overlaps, whose head is not as it is said or whose
outputs are others. Exits 1 for any.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tflite_fields import RUN, environment

import planners as sp
from planners.audits.cure.tflm import planned, written
from planners.audits.readers.tflm import ARENA, read_tflm
from planners.audits.readers.tflm_refused import NOT_THERE
from tests.audits.cure.drawn_kernels import DrawnKernels
from tests.audits.cure.kernels_by_type import ALONE

STEPS = 5


def runs(python: str, files: list[Path], steps: int = STEPS) -> list[dict[str, Any]]:
    """What the runtime says of each; `ended`: it ended the process."""
    found: list[dict[str, Any]] = []
    while len(found) < len(files):
        command = [python, RUN, str(steps), "--keep", *files[len(found) :]]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        found += [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        if len(found) < len(files):
            found.append({"refused": "ended", "ended": done.returncode})
    return found


def read(seed: int, folder: Path, seen: Counter[str]) -> tuple[list[Path], list[Any]]:
    """The file and those with our plans; what is said of each."""
    drawn = DrawnKernels(seed)
    path = drawn.save(folder / f"{seed}.tflite")
    try:
        found = sp.audit(path)
    except sp.BadInput as error:
        seen["refused"] += 1
        return [path], [str(error)]
    if any(note.startswith(NOT_THERE) for note in found.plan.notes):
        seen["without a kernel"] += 1
        return [path], [NOT_THERE]
    drawn.writer.metadata.clear()
    files = [path, drawn.save(folder / f"{seed}_plain.tflite")]
    seen["broken by the file's own plan"] += found.broken
    said: list[Any] = [found.plan.own_peak[ARENA], found.broken]
    for overlap in (False, True):
        file, ours = planned(path, overlap=overlap)
        files.append(folder / f"{seed}_{overlap}.tflite")
        written(file, ours, files[-1])
        said.append(ours.head_bytes)
    return files, said


def alone(folder: Path) -> tuple[list[Path], list[list[Any]]]:
    """Every kernel over every type; what is said of each file, as of those that are drawn."""
    files, said = [], []
    for kind, kernel in ALONE.items():
        for way in kernel.ways():
            name = "-".join(f"{letter}_{dtype}" for letter, dtype in way.items())
            files.append(kernel.file(**way).save(folder / f"{kind}-{name}.tflite"))
            try:
                plan = read_tflm(files[-1])
            except sp.BadInput as error:
                said.append([str(error)])
                continue
            missing = [note for note in plan.notes if note.startswith(NOT_THERE)]
            said.append(missing or [plan.own_peak[ARENA]])
    return files, said


def faults(said: list[Any], ran: list[dict[str, Any]]) -> list[str]:
    own = ran[0]
    if isinstance(said[0], str):
        return [] if "refused" in own else [f"refused here, and it runs: {said[0]}"]
    if "refused" in own:
        return [f"it is refused there: {own['refused']}"]
    head, *more = said
    texts = [] if own["head"] == head else [f"audit: head {head}, there {own['head']}"]
    if not more:
        return texts
    (broken, *heads), (_, plain, *others) = more, ran
    if own["outputs"] != plain["outputs"] and not broken:
        texts.append("audit: its plan changes outputs, and no conflict is told")
    for name, head, other in zip(("apply", "apply --overlap"), heads, others, strict=True):
        if "refused" in other:
            texts.append(f"{name}: its file is refused")
        elif other["head"] != head:
            texts.append(f"{name}: head {head}, there {other['head']}")
        elif other["outputs"] != plain["outputs"]:
            texts.append(f"{name}: other outputs")
    return texts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--kernels", action="store_true")
    parser.add_argument("--python")
    asked = parser.parse_args()
    seen: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = asked.python or environment(folder / "environment")
        every = {}
        for seed in range(asked.first, asked.first + asked.count):
            every[seed] = read(seed, folder, seen)
        ran = iter(runs(python, [path for files, _ in every.values() for path in files]))
        for seed, (files, said) in every.items():
            texts = faults(said, [next(ran) for _ in files])
            seen["wrong"] += bool(texts)
            for text in texts:
                print(f"{seed}: {text}", flush=True)
        if asked.kernels:
            files, every_said = alone(folder)
            for path, said, one in zip(files, every_said, runs(python, files, 1), strict=True):
                texts = faults(said, [one])
                seen["kernels by type"] += 1
                seen["of them that it refuses"] += "refused" in one
                seen["wrong"] += bool(texts)
                for text in texts:
                    print(f"{path.stem}: {text}", flush=True)
    print(f"{asked.count} files: " + ", ".join(f"{n} {what}" for what, n in sorted(seen.items())))
    return bool(seen["wrong"])


if __name__ == "__main__":
    sys.exit(main())
