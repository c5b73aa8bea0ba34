"""Seconds of our Ethos-U presets beside Vela's estimate, layer by layer.

    python benchmarks/vela.py [--only fitted|new] [--layers NETWORK CONFIGURATION] [--python PATH]

Vela 5.2.0 runs in an environment of its own, which is made unless `--python` has it, on eight int8
networks in six configurations of an Ethos-U55, and on two of an Ethos-U65 beside. On the fitted
ones (MLPerf Tiny's keyword spotting and ResNet, person detection) the presets' factors were fitted;
the others are new: MLPerf Tiny's anomaly detection, micro speech, and three made here, as
MobileNetV2, with squeeze and excitation, and residual. The files of others are read from the folder
that `SPILLWAY_TFLITE` names, and left out where it has none.

Compared are sums of operators' cycles, each operator by itself with its maps in SRAM and its
weights where they live, which cross the port by the entropy of their values: Vela's *Op Cycles*
beside ours. Printed: ratios of totals, how many lie within 0.8 and 1.25, layers that do, pairs of
networks that Vela separates by 25 % and that stand in another order here, and of how many layers
the same thing binds (array or outputs, SRAM, flash).
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from exporters_parts.environments import python_of

import planners as sp
from planners.core.compute_seconds import ComputeSeconds
from planners.core.machine import Machine
from tests.audits.cure.networks import Int8Net
from tests.importers.tflite_models import TfliteWriter

CONFIGURATIONS = {
    "256 HE shared": ("ethos_u55_high_end", "55-256", "Ethos_U55_High_End_Embedded", "Shared_Sram"),
    "128 HE shared": (
        "ethos_u55_128_high_end",
        "55-128",
        "Ethos_U55_High_End_Embedded",
        "Shared_Sram",
    ),
    "64 HE shared": (
        "ethos_u55_64_high_end",
        "55-64",
        "Ethos_U55_High_End_Embedded",
        "Shared_Sram",
    ),
    "256 HE SRAM": (
        "ethos_u55_high_end_sram_only",
        "55-256",
        "Ethos_U55_High_End_Embedded",
        "Sram_Only",
    ),
    "256 DE shared": (
        "ethos_u55_deep_embedded",
        "55-256",
        "Ethos_U55_Deep_Embedded",
        "Shared_Sram",
    ),
    "256 DE SRAM": (
        "ethos_u55_deep_embedded_sram_only",
        "55-256",
        "Ethos_U55_Deep_Embedded",
        "Sram_Only",
    ),
    "U65-256 HE SRAM": (
        "ethos_u65_256_high_end_sram_only",
        "65-256",
        "Ethos_U65_High_End",
        "Sram_Only",
    ),
    "U65-512 HE SRAM": (
        "ethos_u65_512_high_end_sram_only",
        "65-512",
        "Ethos_U65_High_End",
        "Sram_Only",
    ),
}
HEADLINE = 6
"""Of the configurations, those of an Ethos-U55."""
WITHIN = (0.8, 1.25)
APART = 1.25
FITTED = ("person_detect", "mlperf_kws", "mlperf_resnet_quant")
NEW = ("micro_speech_quantized", "mlperf_ad01_int8")
MADE: dict[str, Callable[[], TfliteWriter]] = {}
SEVERAL = ("Softmax", "Mean")
"""Operators that Vela writes as several; of a mean the first is a depthwise convolution."""
WITH_THE_ONE_BEFORE = ("Relu", "Relu6")


@dataclass(frozen=True, slots=True)
class LayerCycles:
    """Cycles of an operator, and what it waits for: the array with its outputs, SRAM, or flash."""

    kind: str
    cycles: float
    binds: str


def made(function: Callable[[], TfliteWriter]) -> Callable[[], TfliteWriter]:
    MADE[function.__name__] = function
    return function


@made
def like_mobilenet_v2() -> TfliteWriter:
    net = Int8Net((1, 96, 96, 3), seed=11)
    x = net.conv(net.image, 16, 3, 2)
    blocks = ((16, 1, 1), (24, 6, 2), (24, 6, 1), (40, 6, 2), (40, 6, 1), (80, 6, 2))
    for channels, wider, stride in (*blocks, (80, 6, 1), (96, 6, 1), (160, 6, 2)):
        y = net.conv(x, net.shape(x)[3] * wider) if wider > 1 else x
        y = net.conv(net.depthwise(y, 3, stride), channels)
        x = net.add(y, x) if net.shape(x) == net.shape(y) else y
    return net.done(net.softmax(net.dense(net.mean(net.conv(x, 640)), 20)))


@made
def with_squeeze_and_excitation() -> TfliteWriter:
    net = Int8Net((1, 64, 64, 3), seed=12)
    x = net.conv(net.image, 24, 3, 2)
    for channels, taps, stride in ((24, 3, 1), (40, 5, 2), (40, 5, 1), (64, 3, 2), (64, 3, 1)):
        wide = net.depthwise(net.conv(x, channels * 3), taps, stride)
        scale = net.dense(net.dense(net.mean(wide), channels), channels * 3)
        scale = net.activation("LOGISTIC", scale)
        shape = (1, 1, 1, net.shape(scale)[1])
        numbers, out = net.writer.numbers(shape), net.tensor(shape, 1 / 256, -128)
        scale = net.writer.operator("RESHAPE", [scale, numbers], [out], "ReshapeOptions")
        y = net.conv(net.pair("MUL", wide, scale, "MulOptions"), channels)
        x = net.add(y, x) if net.shape(x) == net.shape(y) else y
    return net.done(net.softmax(net.dense(net.mean(x), 10)))


@made
def residual() -> TfliteWriter:
    net = Int8Net((1, 64, 64, 3), seed=13)
    x = net.pool(net.conv(net.image, 32, 7, 2), 3, 2)
    for channels, stride in ((32, 1), (32, 1), (64, 2), (64, 1), (128, 2), (128, 1)):
        other = stride > 1 or net.shape(x)[3] != channels
        short = net.conv(x, channels, 1, stride) if other else x
        x = net.add(net.conv(net.conv(x, channels, 3, stride), channels, 3), short)
    pooled = net.pool(x, 4, 4, "AVERAGE_POOL_2D")
    return net.done(net.softmax(net.dense(net.flat(pooled), 50)))


def networks(folder: Path, only: str) -> dict[str, Path]:
    """Files by name: those of others that are there, and those made here."""
    others = Path(os.environ.get("SPILLWAY_TFLITE", folder))
    wanted = {"fitted": FITTED, "new": NEW}.get(only, (*FITTED, *NEW))
    found = {name: others / f"{name}.tflite" for name in wanted}
    for name in [name for name, path in found.items() if not path.exists()]:
        print(f"{name}: no {found.pop(name)}; SPILLWAY_TFLITE names the folder that has it")
    if only != "fitted":
        found |= {name: write().save(folder / f"{name}.tflite") for name, write in MADE.items()}
    return found


# ---- Vela ----


def vela_layers(python: Path, path: Path, configuration: str, folder: Path) -> list[LayerCycles]:
    """What Vela says of a file: a row for each operator of the file."""
    _, accelerator, system, memory = CONFIGURATIONS[configuration]
    out = folder / configuration.replace(" ", "_") / path.stem
    command = [python.with_name("vela"), path, "--config", "Arm/vela.ini", "--verbose-performance"]
    command += ["--accelerator-config", f"ethos-u{accelerator}", "--system-config", system]
    command += ["--memory-mode", memory, "--output-dir", out]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (table,) = out.glob("*_per-layer.csv")
    with table.open() as file:
        return list(_rows(csv.DictReader(file)))


def _rows(table: csv.DictReader[str]) -> Iterator[LayerCycles]:
    rows: list[tuple[str, list[float]]] = []
    for row in table:
        kind, own = row["Original Operator"], row["NNG Operator"]
        numbers = [float(row[n]) for n in ("Op Cycles", "NPU", "SRAM AC", "DRAM AC", "OffFlash AC")]
        begins = kind == "Mean" and own == "DepthwiseConv2D"
        several = kind in SEVERAL and not begins and rows and rows[-1][0] == kind
        looked_up = own == "LUT" and not numbers[0]
        if rows and (several or own in WITH_THE_ONE_BEFORE or looked_up):
            rows[-1][1][:] = [a + b for a, b in zip(rows[-1][1], numbers, strict=True)]
        else:
            rows.append((kind, numbers))
    for kind, (cycles, array, sram, dram, flash) in rows:
        away = max(dram, flash)
        binds = "array" if array >= max(sram, away) else "SRAM" if sram >= away else "flash"
        yield LayerCycles(kind, cycles, binds)


# ---- ours ----


def our_layers(path: Path, machine: Machine) -> list[LayerCycles]:
    """Each operator by itself: its maps in the scratchpad, its weights where they live."""
    graph = sp.load(path)
    seconds = ComputeSeconds(graph, machine)
    sram, away = machine.memory(machine.onchip), machine.memory(machine.parameters)
    together = any({sram.name, away.name} <= {*group} for group in machine.compute_ports.parallel)
    found = []
    for op in graph.operators:
        moved = [*op.inputs, *op.outputs]
        array = seconds.whole_s(op)
        by_sram = sum(map(graph.size_bytes, moved)) / sram.read_bytes_per_s
        crossing = (graph.size_bytes(n) * seconds.crossing(n, away.name) for n in op.parameters)
        by_away = sum(crossing) / away.read_bytes_per_s
        if together:
            by_sram, by_away = by_sram + by_away, 0.0
        most = max(array, by_sram, by_away)
        binds = "array" if most == array else "SRAM" if most == by_sram else "flash"
        setup = machine.engine("compute").latency_s
        found.append(LayerCycles(op.kind, (setup + most) * machine.clock_hz, binds))
    return found


# ---- side by side ----


def within(ratio: float) -> bool:
    return WITHIN[0] <= ratio <= WITHIN[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("fitted", "new"), default="")
    parser.add_argument("--layers", nargs=2, metavar=("NETWORK", "CONFIGURATION"))
    parser.add_argument("--python", type=Path)
    parser.add_argument("--ideal", action="store_true", help="ours without maps, rates and ports")
    asked = parser.parse_args()
    folder = Path(tempfile.gettempdir()) / "spillway-vela"
    folder.mkdir(exist_ok=True)
    python = asked.python or python_of("vela", folder)
    files = networks(folder, asked.only)
    compared = {}
    for (name, path), configuration in product(files.items(), CONFIGURATIONS):
        machine = sp.load_machine(CONFIGURATIONS[configuration][0])
        if asked.ideal:
            machine = ideal(machine)
        theirs = vela_layers(python, path, configuration, folder)
        compared[name, configuration] = our_layers(path, machine), theirs
    if asked.layers:
        ours, theirs = compared[tuple(asked.layers)]
        for own, their in zip(ours, theirs, strict=True):
            print(
                f"{own.kind:28} {their.kind:20} {own.cycles:10.0f} {their.cycles:10.0f}"
                f" {own.cycles / their.cycles:6.2f} {own.binds:6} {their.binds}"
            )
        return
    report(compared, list(files))


def ideal(machine: Machine) -> Machine:
    """The machine as it was before it had an array."""
    data = machine.to_json()
    for name in ("compute_maps", "compute_rates", "compute_ports"):
        data.pop(name, None)
    data["sources"] = {}
    for engine in data["engines"]:
        engine["latency_s"] = 0.0
    return Machine.from_json(data)


def report(
    compared: dict[tuple[str, str], tuple[list[LayerCycles], list[LayerCycles]]], names: list[str]
) -> None:
    """Ratios by network and configuration, and the counts."""
    print(f"{'ours / Vela':30}", *(f"{name:>16}" for name in CONFIGURATIONS))
    totals = {
        key: (sum(own.cycles for own in ours), sum(their.cycles for their in theirs))
        for key, (ours, theirs) in compared.items()
    }
    headline = list(CONFIGURATIONS)[:HEADLINE]
    for name in names:
        ratios = [totals[name, each][0] / totals[name, each][1] for each in CONFIGURATIONS]
        print(f"{name:30}", *(f"{ratio:16.2f}" for ratio in ratios))
    for title, group in (("fitted", FITTED), ("new", [n for n in names if n not in FITTED])):
        some = [n for n in names if n in group]
        if not some:
            continue
        cells = [(name, each) for name in some for each in headline]
        ok = sum(within(totals[cell][0] / totals[cell][1]) for cell in cells)
        pairs = [pair for cell in cells for pair in zip(*compared[cell], strict=True)]
        layers = sum(within(own.cycles / their.cycles) for own, their in pairs)
        binds = sum(own.binds == their.binds for own, their in pairs)
        print(f"{title}: {ok} of {len(cells)} totals within {WITHIN[0]} to {WITHIN[1]}, ", end="")
        print(f"{layers} of {len(pairs)} layers; the same binds in {binds}")
    apart = turned = 0
    for each, (a, b) in product(headline, combinations(names, 2)):
        (our_a, their_a), (our_b, their_b) = totals[a, each], totals[b, each]
        if max(their_a, their_b) >= APART * min(their_a, their_b):
            apart += 1
            if (our_a < our_b) != (their_a < their_b):
                turned += 1
                print(f"another order: {a} and {b} in {each}")
    print(f"{apart - turned} of {apart} pairs that Vela separates by a quarter stand in its order")


if __name__ == "__main__":
    main()
