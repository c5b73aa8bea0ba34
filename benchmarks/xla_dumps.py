"""XLA's dumps of programs with loops, branches and chance: read, and to the byte what XLA says?

    python benchmarks/xla_dumps.py [--count 12] [--seed 0] [--read] [--folder DIR]

Programs drawn by chance (`exporters_parts/write_xla.py`: loops in loops, branches of two to four
ends, maps, calls, gradients, random numbers) are compiled for the CPU by jax 0.10.2 in an
environment of its own, which is made where it is not there, and their dumps are audited. A dump is
right when its bytes are XLA's *Total bytes*, the bytes of its temporaries those that the compiled
program reports, what XLA lists at its peak is live there, no conflict is seen, and all that XLA has
in one buffer (what a loop carries, what branches give) lies at one address in the placement found.

One line: dumps, read right, refused (by message), wrong (with what differs). Then of how many the
least is proven, and how far it is below XLA's own. Exits 1 for any that is refused or wrong.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

from exporters import FOLDER, Judged, grouped, report, write_files
from exporters_parts.environments import Exporter

import planners as sp
from planners.audits.conflicts import conflicts

WRITER = Exporter("XLA", "xla", "write_xla.py")


def faults(found: sp.Audit, oracle: Mapping[str, Any]) -> Iterator[str]:
    """What differs between an audit and what XLA says."""
    temporary = sum(m.own_bytes or 0 for m in found.memories)
    if found.peak_bytes != oracle["total"]:
        yield f"{found.peak_bytes} bytes, not {oracle['total']}"
    if temporary != oracle["temporary"]:
        yield f"{temporary} bytes of temporaries, not {oracle['temporary']}"
    if found.broken:
        yield found.sentence()
    tensors = {t.name.removesuffix("{}"): t for t in found.plan.tensors}
    for name, size in oracle["live"]:
        tensor = tensors.get(name.removesuffix("{}"))
        # One that another begins over in this step counts as ended.
        if tensor and not tensor.lower <= oracle["step"] <= tensor.upper:
            yield f"{name} is not live at XLA's peak, in step {oracle['step']}"
        if tensor and tensor.size_bytes != int(size):
            yield f"{name} has {tensor.size_bytes} bytes, not {size}"
    better = found.better()
    for memory in better.memories:
        if wrong := conflicts(better.inside(memory)):
            yield f"better: {wrong[0].one} and {wrong[0].other} are in conflict"
    for which, plan in (("", found.plan), ("better: ", better)):
        places = {t.name.removesuffix("{}"): (t.memory, t.offset) for t in plan.tensors}
        for names in oracle["one"]:
            at = {places[n] for name in names if (n := name.removesuffix("{}")) in places}
            if len(at) > 1:
                yield f"{which}{', '.join(names)} lie at {sorted(at)}"


def judge(told: Path, judged: Judged) -> sp.Audit | None:
    """Audit one dump and compare."""
    oracle = json.loads(told.read_text())
    label = f"{told.parent.name}/{told.stem}"
    if "error" in oracle:
        judged.unwritten[grouped(oracle["error"])].append(label)
        return None
    path = told.parent / oracle["file"]
    try:
        found = sp.audit(path, time_limit=10)
    except sp.SpillwayError as error:
        judged.refused[grouped(str(error).replace(f"{path}", "").strip(": "))].append(label)
        return None
    judged.compared += len(found.plan.tensors)
    if wrong := list(faults(found, oracle)):
        judged.wrong[label] = wrong
    else:
        judged.right.append(label)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=12, help="seeds, each with eight programs")
    parser.add_argument("--seed", type=int, default=0, help="the first of them")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--seconds", type=float, default=1800, help="of writing")
    parser.add_argument("--read", action="store_true", help="only what is written already")
    asked = parser.parse_args()
    if not asked.read:
        write_files(WRITER, asked.folder, asked.seed, asked.count, asked.seconds)
    judged, audits = Judged(), []
    for seed in range(asked.seed, asked.seed + asked.count):
        for told in sorted((asked.folder / "files" / WRITER.name / str(seed)).glob("*.json")):
            if found := judge(told, judged):
                audits.append(found)
    report(WRITER.name, judged)
    proven = sum(found.proven for found in audits)
    saved = [1 - found.least_bytes / (found.peak_bytes or 1) for found in audits]
    print(f"    least proven for {proven}; below XLA's for {sum(map(bool, saved))}, ", end="")
    print(
        f"{sum(saved) / max(len(saved), 1):.1%} of its bytes on average, {max(saved):.1%} at most"
    )
    return bool(judged.wrong or judged.refused)


if __name__ == "__main__":
    raise SystemExit(main())
