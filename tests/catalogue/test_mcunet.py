"""MCUNet against what its authors publish: sizes, the layers of a released file, the tables."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import NamedTuple

import pytest
import torch

import planners as sp
from planners.catalogue.networks.mcunet import TABLES, Table, mcunet
from planners.graph.model import Operator

DATA = Path(__file__).parents[3] / "shared" / "data"
PUBLISHED = {  # The model zoo's MACs and parameters in millions, as it prints them.
    "mcunet_vww1": (11.6, 0.43),
    "mcunet_in0": (6.4, 0.75),
    "mcunet_in1": (12.8, 0.64),
    "mcunet_in2": (67.3, 0.73),
    "mcunet_in3": (81.8, 0.74),
    "mcunet_in4": (125.9, 1.73),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_macs_and_parameters_are_the_published_ones(name: str) -> None:
    with torch.device("meta"):
        learned = sum(parameter.numel() for parameter in mcunet(name).parameters())
    macs, parameters = PUBLISHED[name]
    assert (round(sp.load(name).macs / 1e6, 1), round(learned / 1e6, 2)) == (macs, parameters)


def test_another_resolution() -> None:
    assert sp.load("mcunet_vww1", input_shape=(1, 3, 96, 80)).tensors["linear"].shape == (1, 2)
    larger = sp.load("mcunet_vww1", input_shape=(2, 3, 160, 160))
    classifier = larger.operators[-1].macs
    assert larger.macs - classifier > 4 * (sp.load("mcunet_vww1").macs - classifier)


def test_one_runs_bit_for_bit() -> None:
    graph = sp.load("mcunet_vww1", input_shape=(1, 3, 32, 40))
    plan = sp.plan(graph, budget="MR")
    sp.check(plan)
    done = sp.execute(plan)
    assert done.bit_exact
    assert done.outputs.shape == (1, 2)
    assert done.outputs.isfinite().all()


class Module(NamedTuple):
    """A row of the vMCU paper's Table 2; `stride` is that of the second convolution."""

    side: int
    channels: int
    middle: int
    out: int
    kernel: int
    stride: int


PRINTED = {
    "S": "20 16 48 16 3 1, 20 16 48 16 3 1, 10 24 144 16 3 1, 10 24 120 24 3 1, 5 40 240 40 3 1, "
    "5 48 192 48 3 1, 3 96 480 96 3 1, 3 96 384 96 3 1",
    "B": "88 8 24 16 7 2, 44 16 80 16 3 1, 44 16 80 16 7 1, 44 16 64 24 5 1, 44 16 80 24 5 2, "
    "22 24 120 24 5 1, 22 24 120 24 5 1, 22 24 120 40 3 2, 11 40 240 40 7 1, 11 40 160 40 5 1, "
    "11 40 200 48 7 2, 11 48 240 48 7 1, 11 48 240 48 3 1, 11 48 288 96 3 2, 6 96 480 96 7 1, "
    "6 96 384 96 3 1",
}


def modules(table: Table, side: int) -> list[Module]:
    """All blocks but the first, with the sides of the image that they read."""
    side, channels, rows = (side + 1) // 2, table.stem, []
    for kernel, expand, out, stride in table.blocks:
        rows.append(Module(side, channels, channels * expand, out, kernel, stride))
        side, channels = -(-side // stride), out
    return rows[1:]


def test_where_the_vmcu_paper_prints_other_modules() -> None:
    printed = {
        letter: [Module(*map(int, row.split())) for row in text.split(",")]
        for letter, text in PRINTED.items()
    }
    residual = [m for m in modules(TABLES["mcunet_vww1"], 80) if m.channels == m.out]
    differ = [f"S{i + 1}" for i in range(8) if residual[i] != printed["S"][i]]
    assert len(residual) == 8
    assert differ == ["S3", "S4", "S5"]
    assert (residual[2].out, residual[3].kernel, residual[4].kernel) == (24, 5, 7)
    all_but_last = modules(TABLES["mcunet_in3"], 176)[:-1]
    differ = [f"B{i + 2}" for i in range(16) if all_but_last[i] != printed["B"][i]]
    assert differ == ["B5", "B12"]
    assert (all_but_last[3].out, all_but_last[10].kernel, all_but_last[10].stride) == (16, 5, 1)


@pytest.mark.skipif(not (DATA / "mcunet_configs.json").exists(), reason="the tables are not here")
def test_tables_of_another_origin_are_equal() -> None:
    configs = json.loads((DATA / "mcunet_configs.json").read_text())
    assert len(configs) == len(TABLES)
    for title, config in configs.items():
        name = title.split()[0].replace("-", "_")
        table = TABLES[name]
        assert config["first_conv"] == {"k": 3, "stride": 2, "out": table.stem}
        rows = [
            tuple(block[key] for key in ("k", "expand", "out", "stride"))
            for block in config["blocks"]
        ]
        assert rows == list(table.blocks)
        assert sp.load(name).tensors["image"].shape[-1] == config["resolution"]


def layer(graph: sp.Graph, op: Operator) -> tuple[object, ...]:
    """Kind, input and output image (height, width, channels), kernel and stride."""
    images = [graph.tensors[name].shape[1:] for name in (op.inputs[0], op.outputs[0])]
    sizes = [(height, width, channels) for channels, height, width in images]
    if op.kind == "add":
        return ("ADD", *sizes, "", "")
    kind = "DEPTHWISE_CONV_2D" if op.groups > 1 else "CONV_2D"
    return (kind, *sizes, str(op.kernel[0]), str(op.stride[0]))


@pytest.mark.skipif(not (DATA / "mcunet_vww1_5fps_layers.csv").exists(), reason="no layers here")
def test_layers_are_those_of_the_released_file() -> None:
    padded: dict[str, tuple[int, ...]] = {}
    released = []
    for row in csv.DictReader((DATA / "mcunet_vww1_5fps_layers.csv").read_text().splitlines()):
        before = tuple(int(row[f"in_{axis}"]) for axis in "hwc")
        after = tuple(int(row[f"out_{axis}"]) for axis in "hwc")
        if row["op"] == "PAD":
            padded[row["out_id"]] = before
        elif row["op"] not in ("QUANTIZE", "TRANSPOSE"):
            before = padded.get(row["in_ids"], before)
            released.append((row["op"], before, after, row["k"], row["stride"]))
    graph = sp.load("mcunet_vww1")
    features = [op for op in graph.operators if op.kind in ("conv2d", "add")]
    assert [layer(graph, op) for op in features] == released
    assert [op.kind for op in graph.operators[len(features) :]] == ["adaptive_avg_pool2d", "linear"]
