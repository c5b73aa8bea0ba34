"""Plans in the bytes of Vela's arena beside its cascades: memory, seconds, bytes, which tiles.

    python benchmarks/vela_cascades.py [--limit 20] [--only NETWORK] [--python PATH]

Vela 5.2.0 on an Ethos-U55-128 (high-end embedded, Shared_Sram, `--optimise Performance`), in an
environment of its own which is made unless `--python` has it, with two small arenas for each of
three int8 networks: person detection, MLPerf Tiny's ResNet (from the folder that `SPILLWAY_TFLITE`
names, left out where it has none), and one like MobileNetV2 that `benchmarks/vela.py` makes. Ours
on the preset `ethos_u55_128_high_end` with as many bytes: `fusion` by latency (weights counted),
`overlap` by latency (weights in place), and `joined` (either).

Printed for each: SRAM, milliseconds, bytes off chip, and what runs together with the rows that each
operator makes at a time, of those that it has. Times are not of one model: Vela's are its estimate,
ours the simulator's, whose sum of operators alone is beside it (*alone*: ours over Vela's without a
small arena). Vela has inputs and outputs in SRAM; ours come from and go to a memory off chip, as
fast as the flash. Vela counts coded weights, ours those of the file.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from exporters_parts.environments import python_of
from vela import MADE, our_layers

import planners as sp
from planners.core.loops import expanded
from planners.core.plan import Plan
from planners.core.program import Compute
from planners.core.units import format_bytes

PRESET, KIB = "ethos_u55_128_high_end", 1024
ACCELERATOR, SYSTEM, MEMORY = "ethos-u55-128", "Ethos_U55_High_End_Embedded", "Shared_Sram"
ARENAS = {
    "person_detect": (48, 32),
    "mlperf_resnet_quant": (48, 32),
    "like_mobilenet_v2": (96, 48),
}
"""KiB of the arenas of each network."""
ROOMY_KIB = 2048
WAYS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("fusion", "fusion", {"objective": "latency", "weights": "counted"}),
    ("overlap", "overlap", {"objective": "latency", "weights": "in-place"}),
    ("joined, counted", "joined", {"objective": "latency", "weights": "counted"}),
    ("joined, in place", "joined", {"objective": "latency", "weights": "in-place"}),
)
OPERATION = re.compile(r"^\t(\d+): Operation (\w+)  - OFM ([\d, ]+) ")
STRIPE = re.compile(r"^\t\tOFM Stripe +=.*\[([\d, ]+)\]")
CASCADE = re.compile(r"^\t\tAssigned Cascade = (\d+)")


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows that an operator makes at a time, and all that it has."""

    kind: str
    at_once: int
    whole: int


@dataclass(frozen=True, slots=True)
class Found:
    """What a compiler or planner did in an arena: `together` are operators that run in parts, by
    the number of the first."""

    sram_bytes: int
    seconds: float
    offchip_bytes: int
    together: dict[int, list[Rows]]


# ---- Vela ----


def vela(python: Path, path: Path, kib: int, folder: Path) -> Found:
    """Compile a file with an arena of so many KiB. Raises `CalledProcessError` if it refuses."""
    out = folder / "cascades" / f"{path.stem}_{kib}"
    command: list[str | Path] = [
        python.with_name("vela"),
        path,
        "--config",
        "Arm/vela.ini",
        "--output-dir",
        out,
    ]
    command += ["--accelerator-config", ACCELERATOR, "--system-config", SYSTEM]
    command += ["--memory-mode", MEMORY, "--optimise", "Performance", "--verbose-schedule"]
    command += ["--arena-cache-size", str(kib * KIB), "--verbose-performance"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    (summary,) = out.glob("*_summary_*.csv")
    with summary.open() as file:
        (row,) = csv.DictReader(file)
    return Found(
        round(float(row["sram_memory_used"]) * KIB),
        float(row["inference_time"]),
        int(row["off_chip_flash_total_bytes"]),
        cascades(done.stdout),
    )


def cascades(printed: str) -> dict[int, list[Rows]]:
    """The cascades of the schedule that Vela prints: operators with one number other than 0."""
    found: dict[str, dict[int, Rows]] = {}
    number, kind, whole, at_once = 0, "", 1, 1
    for line in printed.splitlines():
        if match := OPERATION.match(line):
            number, kind, whole = int(match[1]), match[2], _rows(match[3])
        elif match := STRIPE.match(line):
            at_once = _rows(match[1])
        elif (match := CASCADE.match(line)) and match[1] != "0":
            found.setdefault(match[1], {})[number] = Rows(kind, at_once, whole)
    return {min(each): [each[i] for i in sorted(each)] for each in found.values()}


def _rows(shape: str) -> int:
    return int(shape.split(",")[1])


# ---- Ours ----


def ours(plan: Plan) -> Found:
    """A plan in the same words."""
    checked, done = sp.check(plan), sp.simulate(plan)
    return Found(
        plan.claims.extent_bytes, done.makespan_s, checked.traffic_bytes, dict(in_parts(plan))
    )


def in_parts(plan: Plan) -> Iterator[tuple[int, list[Rows]]]:
    """Operators that run in parts, by the number of the first: those between each other's parts
    run together."""
    graph, first, last = plan.graph, dict[str, int](), dict[str, int]()
    rows: dict[str, int] = {}
    for at, item in enumerate(expanded(plan.program.instructions)):
        if not isinstance(item, Compute):
            continue
        name = item.operator
        first.setdefault(name, at)
        last[name] = at
        for _, box in item.made:
            high = box[2][1] - box[2][0] if len(box) == 4 else 1
            rows[name] = max(rows.get(name, 0), high)
    order = sorted(first, key=first.__getitem__)
    while order:
        group = [order.pop(0)]
        until = last[group[0]]
        while order and first[order[0]] < until:
            until = max(until, last[order[0]])
            group.append(order.pop(0))
        if len(group) > 1:
            ops = [graph.operators[graph.index[name]] for name in group]
            shapes = [graph.tensors[op.outputs[0]].shape for op in ops]
            yield (
                graph.index[group[0]],
                [
                    Rows(op.kind, rows[op.name], shape[2] if len(shape) == 4 else 1)
                    for op, shape in zip(ops, shapes, strict=True)
                ],
            )


# ---- Side by side ----


def files(folder: Path, only: str) -> dict[str, Path]:
    """The networks that are there, by name."""
    others = Path(os.environ.get("SPILLWAY_TFLITE", folder))
    found = {}
    for name in ARENAS:
        if only in ("", name):
            path = others / f"{name}.tflite"
            found[name] = MADE[name]().save(folder / path.name) if name in MADE else path
            if not path.exists() and name not in MADE:
                print(f"{name}: no {found.pop(name)}; SPILLWAY_TFLITE names the folder that has it")
    return found


def row(name: str, kib: int, who: str, found: Found) -> str:
    over = " (over)" if found.sram_bytes > kib * KIB else ""
    figures = f"{format_bytes(found.sram_bytes)}{over} | {found.seconds * 1e3:.3f} ms"
    tiles = "; ".join(words(first, group) for first, group in sorted(found.together.items()))
    return f"| {name} | {kib} | {who} | {figures} | {found.offchip_bytes:,} | {tiles} |"


def words(first: int, group: Sequence[Rows]) -> str:
    """Operators by number, and the rows of each at a time, of all."""
    at_once = " ".join(str(each.at_once) for each in group)
    whole = " ".join(str(each.whole) for each in group)
    return f"{first}–{first + len(group) - 1}: {at_once} of {whole}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=float, default=20, help="seconds of each plan")
    parser.add_argument("--only", choices=ARENAS, default="")
    parser.add_argument("--python", type=Path)
    asked = parser.parse_args()
    folder = Path(tempfile.gettempdir()) / "spillway-vela"
    folder.mkdir(exist_ok=True)
    python = asked.python or python_of("vela", folder)
    print("| network | arena, KiB | by | SRAM | time | off chip, bytes | together: rows |")
    print("|---|--:|---|--:|--:|--:|---|")
    for name, path in files(folder, asked.only).items():
        graph, machine = sp.load(path), sp.load_machine(PRESET)
        roomy = vela(python, path, ROOMY_KIB, folder)
        print(row(name, ROOMY_KIB, "Vela", roomy), flush=True)
        alone = sum(layer.cycles for layer in our_layers(path, machine)) / machine.clock_hz
        print(f"| {name} | | alone, {alone / roomy.seconds:.2f} | | {alone * 1e3:.3f} ms | | |")
        for kib in ARENAS[name]:
            try:
                print(row(name, kib, "Vela", vela(python, path, kib, folder)), flush=True)
            except subprocess.CalledProcessError as error:
                print(f"| {name} | {kib} | Vela | refused: {error.stderr.strip()[-80:]} | | | |")
            for who, planner, options in WAYS:
                print(our_row(graph, name, kib, who, planner, options, asked.limit), flush=True)


def our_row(
    graph: sp.Graph,
    name: str,
    kib: int,
    who: str,
    planner: str,
    options: dict[str, Any],
    limit: float,
) -> str:
    try:
        plan = sp.plan(graph, planner, kib * KIB, PRESET, time_limit=limit, **options)
    except sp.BudgetTooSmall as told:
        return f"| {name} | {kib} | {who} | none: {told} | | | |"
    return row(name, kib, who, ours(plan))


if __name__ == "__main__":
    main()
