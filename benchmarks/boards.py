"""Seconds of our microcontroller presets beside times that were measured on boards.

    python benchmarks/boards.py

Measured, each with its source: modules S1 to S8 of the vMCU paper's Table 3 (STM32F411), MCUNet's
networks in TinyEngine's README (STM32H743), MLPerf Tiny's four networks in its published results
(STM32F746, and a Cortex-M4 and a Cortex-M7 at other clocks), and the CIFAR-10 network of
CMSIS-NN's paper (STM32F746). Ours is a sum of operators, each by itself: its maps in the on-chip
memory, its weights in flash. Rows marked `fitted` are those that a preset's cycles a MAC come from;
the others are not.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import planners as sp
from planners.core.compute_seconds import ComputeSeconds, seconds_by_port
from planners.core.graph import Graph
from planners.core.machine import Machine, with_numbers
from planners.papers.vmcu.paper import TABLE_3
from tests.audits.cure.networks import SAME, VALID, Int8Net
from tests.importers.tflite_models import TfliteWriter

WITHIN = 0.2
VMCU = "vMCU, MLSys 2024, Table 3 (no clock stated: 100 MHz assumed)"
TINYENGINE = "github.com/mit-han-lab/tinyengine, README.md, Measured Results, commit 0363956"
MLPERF = "github.com/mlcommons/tiny_results_{}, closed/{}, median inferences a second"
CMSIS_NN = "Lai, Suda, Chandra 2018, arXiv 1801.06601, Table 1"
NOT_COMPARED = """\
TinyEngine's README: mcunet-vww0, mcunet-vww2, mbv2-w0.35, proxyless-w0.3 are not in the catalogue
MCUNet and MCUNetV2 (NeurIPS 2020, 2021): latencies on the STM32F746 are of networks without shapes
vMCU, Figure 8: an image; the text has shares alone (spillway reproduce vmcu)
TensorFlow Lite Micro without CMSIS-NN: reference kernels, ten to twenty times slower"""


@dataclass(frozen=True, slots=True)
class Measured:
    """A published time of a network on a board, beside ours at that board's clock."""

    network: str
    machine: str
    milliseconds: float
    source: str
    runtime: str
    fitted: bool = False
    clock_hz: float = 0.0
    board: str = ""


class TinyNet(Int8Net):
    """A network of MLPerf Tiny, made from its shapes."""

    def window(self, x: int, made: int, taps: tuple[int, int], stride: int) -> int:
        """A convolution with a window that is no square."""
        weights = self._weights((made, *taps, self.shape(x)[3]))
        return self.writer.operator(
            "CONV_2D",
            [x, weights, self._bias(made)],
            [self._slid(x, stride, made)],
            "Conv2DOptions",
            **{"Padding": SAME, "StrideH": stride, "StrideW": stride},
            **{"DilationHFactor": 1, "DilationWFactor": 1},
        )

    def average(self, x: int) -> int:
        """The mean of each channel's pixels, as a pool."""
        batch, high, wide, channels = self.shape(x)
        return self.writer.operator(
            "AVERAGE_POOL_2D",
            [x],
            [self.tensor((batch, 1, 1, channels))],
            "Pool2DOptions",
            **{"Padding": VALID, "StrideH": high, "StrideW": wide},
            **{"FilterHeight": high, "FilterWidth": wide},
        )


# ---- networks ----


def anomaly_detection() -> TfliteWriter:
    """Of MLPerf Tiny: an autoencoder of ten linear layers."""
    net = TinyNet((1, 640))
    x = net.image
    for made in (128, 128, 128, 128, 8, 128, 128, 128, 128, 640):
        x = net.dense(x, made)
    return net.done(x)


def keyword_spotting() -> TfliteWriter:
    """Of MLPerf Tiny: DS-CNN, 64 channels."""
    net = TinyNet((1, 49, 10, 1))
    x = net.window(net.image, 64, (10, 4), 2)
    for _ in range(4):
        x = net.conv(net.depthwise(x), 64)
    return net.done(net.softmax(net.dense(net.flat(net.average(x)), 12)))


def image_classification() -> TfliteWriter:
    """Of MLPerf Tiny: a ResNet of eight layers."""
    net = TinyNet((1, 32, 32, 3))
    x = net.conv(net.image, 16, 3)
    for made, stride in ((16, 1), (32, 2), (64, 2)):
        around = net.conv(x, made, 1, stride) if stride > 1 else x
        x = net.add(around, net.conv(net.conv(x, made, 3, stride), made, 3))
    return net.done(net.softmax(net.dense(net.flat(net.average(x)), 10)))


def visual_wake_words() -> TfliteWriter:
    """Of MLPerf Tiny: MobileNet v1 of a quarter of its width, on 96 × 96 pixels."""
    net = TinyNet((1, 96, 96, 3))
    x = net.conv(net.image, 8, 3, 2)
    widths = ((16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2), *[(128, 1)] * 5)
    for made, stride in (*widths, (256, 2), (256, 1)):
        x = net.conv(net.depthwise(x, 3, stride), made)
    return net.done(net.softmax(net.dense(net.flat(net.average(x)), 2)))


def cifar_10() -> TfliteWriter:
    """Of CMSIS-NN's paper: three convolutions of 5 × 5, each with a pool."""
    net = TinyNet((1, 32, 32, 3))
    x = net.image
    for made in (32, 32, 64):
        x = net.pool(net.conv(x, made, 5), 3, 2)
    return net.done(net.dense(net.flat(x), 10))


MADE: dict[str, Callable[[], TfliteWriter]] = {
    each.__name__: each
    for each in (
        anomaly_detection,
        keyword_spotting,
        image_classification,
        visual_wake_words,
        cifar_10,
    )
}
FOUR = ("anomaly_detection", "image_classification", "keyword_spotting", "visual_wake_words")


@cache
def network(name: str) -> Graph:
    """From the catalogue, or made here."""
    if name not in MADE:
        return sp.load(name)
    with tempfile.TemporaryDirectory() as folder:
        return sp.load(MADE[name]().save(Path(folder) / f"{name}.tflite"))


# ---- published times ----


def vmcu() -> Iterator[Measured]:
    for at, runtime in enumerate(("vMCU", "TinyEngine")):
        for name, times in TABLE_3.items():
            fitted = runtime == "TinyEngine" and name <= "S4"
            yield Measured(f"vmcu:{name}", "stm32f411", times[at], VMCU, runtime, fitted)


def tinyengine() -> Iterator[Measured]:
    times = {"vww1": 51, "in0": 25, "in1": 56, "in2": 280, "in3": 336, "in4": 463}
    for name, milliseconds in times.items():
        fitted = name in ("in0", "in2")
        yield Measured(
            f"mcunet_{name}", "stm32h743", milliseconds, TINYENGINE, "TinyEngine", fitted
        )


def mlperf_tiny() -> Iterator[Measured]:
    cmsis_nn = "OctoML/results/microtvm_cmsis_nn/NUCLEO_L4R5ZI"
    m4 = ("stm32f411", 120e6, "L4R5 (M4)")
    yield from _four("v1.0", cmsis_nn, "CMSIS-NN", m4, (116.2, 2.567, 10.02, 3.320), fitted=2)
    st = "STMicroelectronics/results/NUCLEO_L4R5ZI"
    yield from _four("v1.0", st, "X-CUBE-AI", m4, (131.95, 4.407, 13.32, 4.339))
    f746 = ("stm32f746", 216e6, "F746")
    plumerai = "plumerai/results/DISCO_F746NG"
    yield from _four("v1.0", plumerai, "Plumerai", f746, (435.7, 15.44, 52.29, 17.54), fitted=3)
    bosch = "bosch/results/DISCO_F746NG"
    yield from _four("v1.1", bosch, "HALE", f746, (587.3, 16.24, 54.29, 17.49), fitted=3)
    h7a3 = ("stm32f746", 280e6, "H7A3 (M7)")
    st = "STMicroelectronics/results/NUCLEO-H7A3ZI-Q"
    yield from _four("v1.0", st, "X-CUBE-AI", h7a3, (547.7, 18.40, 59.67, 19.72))


def _four(
    version: str,
    where: str,
    runtime: str,
    board: tuple[str, float, str],
    per_second: Sequence[float],
    fitted: int = 0,
) -> Iterator[Measured]:
    source = MLPERF.format(version, where)
    machine, clock_hz, title = board
    for at, (name, rate) in enumerate(zip(FOUR, per_second, strict=True)):
        yield Measured(name, machine, 1e3 / rate, source, runtime, at < fitted, clock_hz, title)


def cmsis_nn() -> Iterator[Measured]:
    yield Measured("cifar_10", "stm32f746", 99.1, CMSIS_NN, "CMSIS-NN 2018")


# ---- ours ----


def milliseconds(graph: Graph, machine: Machine) -> float:
    """A sum of operators, each by itself."""
    seconds = ComputeSeconds(graph, machine)
    onchip, flash = machine.memory(machine.onchip), machine.memory(machine.parameters)
    total = 0.0
    for op in graph.operators:
        read = sum(map(graph.size_bytes, op.inputs)) / onchip.read_bytes_per_s
        weights = sum(map(graph.size_bytes, op.parameters)) / flash.read_bytes_per_s
        written = sum(map(graph.size_bytes, op.outputs)) / onchip.write_bytes_per_s
        moving = seconds_by_port(
            {onchip.name: read, flash.name: weights}, {onchip.name: written}, machine, max
        )
        total += max(seconds.whole_s(op), moving) + machine.engine("compute").latency_s
    return 1e3 * total


def ours(row: Measured) -> float:
    machine = sp.load_machine(row.machine)
    if row.clock_hz:
        machine = with_numbers(machine, {"clock_hz": row.clock_hz})
    return milliseconds(network(row.network), machine)


def main() -> None:
    for rows in ([*vmcu()], [*tinyengine()], [*mlperf_tiny()], [*cmsis_nn()]):
        source = ""
        for row in rows:
            if row.source != source:
                source = row.source
                print(f"\n{source}")
            found = ours(row)
            print(
                f"  {row.board or row.machine:10} {row.runtime:14} {row.network:22}"
                f" measured {row.milliseconds:8.2f} ms  ours {found:8.2f}"
                f"  {found / row.milliseconds:5.2f}{'  fitted' if row.fitted else ''}"
            )
        others = [row for row in rows if not row.fitted]
        near = sum(abs(ours(row) / row.milliseconds - 1) <= WITHIN for row in others)
        print(f"{near} of {len(others)} that are not fitted within {WITHIN:.0%}")
        for runtime in dict.fromkeys(row.runtime for row in rows):
            print(_order(runtime, [row for row in rows if row.runtime == runtime]))
    print("\nnot compared:")
    print(NOT_COMPARED)


def _order(runtime: str, rows: Sequence[Measured]) -> str:
    """How many pairs that were measured apart, of one source, stand in the measured order."""
    apart = right = 0
    for at, one in enumerate(rows):
        for other in rows[:at]:
            if one.source == other.source and one.milliseconds != other.milliseconds:
                apart += 1
                right += (ours(one) < ours(other)) == (one.milliseconds < other.milliseconds)
    return f"{runtime}: {right} of {apart} pairs in the measured order"


if __name__ == "__main__":
    main()
