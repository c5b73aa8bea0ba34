"""MCUNet against what its authors publish: sizes, the layers of a released file, the tables."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import planners as sp
from planners.catalogue.networks.mcunet import TABLES, NetworkTable, mcunet
from planners.catalogue.vmcu import MISPRINTS, TABLE_2, BottleneckShape
from planners.core.graph import Operator

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


@pytest.fixture
def few_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The network's first four blocks are all of it, in a cache of the test's own."""
    monkeypatch.setenv("SPILLWAY_CACHE", str(tmp_path))
    table = TABLES["mcunet_vww1"]
    monkeypatch.setitem(TABLES, "mcunet_vww1", table._replace(blocks=table.blocks[:4]))


@pytest.mark.usefixtures("few_blocks")
def test_another_resolution() -> None:
    small = sp.load("mcunet_vww1", input_shape=(1, 3, 48, 40))
    assert small.tensors["linear"].shape == (1, 2)
    larger = sp.load("mcunet_vww1", input_shape=(2, 3, 96, 80))
    classifier = larger.operators[-1].macs
    assert larger.macs - classifier > 4 * (small.macs - classifier)


@pytest.mark.usefixtures("few_blocks")
def test_one_runs_bit_for_bit() -> None:
    runs_bit_for_bit()


@pytest.mark.long
def test_a_whole_one_runs_bit_for_bit() -> None:
    runs_bit_for_bit()


def runs_bit_for_bit() -> None:
    graph = sp.load("mcunet_vww1", input_shape=(1, 3, 32, 40))
    plan = sp.plan(graph, budget="MR")
    sp.check(plan)
    done = sp.execute(plan)
    assert done.bit_exact
    assert done.outputs.shape == (1, 2)
    assert done.outputs.isfinite().all()


def released(table: NetworkTable, side: int) -> list[BottleneckShape]:
    """All blocks but the first as modules, with the sides of the image that they read."""
    side, channels, rows = (side + 1) // 2, table.stem, []
    for kernel, expand, out, stride in table.blocks:
        sizes = (side, channels, channels * expand, out, kernel)
        rows.append(BottleneckShape("", *sizes, (1, stride, 1)))
        side, channels = -(-side // stride), out
    return rows[1:]


def test_the_vmcu_paper_prints_the_released_modules_but_for_its_misprints() -> None:
    ours = {
        # S are the modules with a residual; B1 is the stem with the first block.
        "S": [module for module in released(TABLES["mcunet_vww1"], 80) if module.residual],
        "B": [TABLE_2["B1"], *released(TABLES["mcunet_in3"], 176)[:-1]],
    }
    found = [replace(m, name=f"{k}{i + 1}") for k, ms in ours.items() for i, m in enumerate(ms)]
    assert [m.name for m in found] == list(TABLE_2)
    differ = {m.name: m for m in found if m != TABLE_2[m.name]}
    assert set(differ) == set(MISPRINTS)
    assert (differ["S3"].c_out, differ["S4"].kernel, differ["S5"].kernel) == (24, 5, 7)
    assert (differ["B5"].c_out, differ["B12"].kernel, differ["B12"].strides[1]) == (16, 5, 1)


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
    listed = []
    for row in csv.DictReader((DATA / "mcunet_vww1_5fps_layers.csv").read_text().splitlines()):
        before = tuple(int(row[f"in_{axis}"]) for axis in "hwc")
        after = tuple(int(row[f"out_{axis}"]) for axis in "hwc")
        if row["op"] == "PAD":
            padded[row["out_id"]] = before
        elif row["op"] not in ("QUANTIZE", "TRANSPOSE"):
            before = padded.get(row["in_ids"], before)
            listed.append((row["op"], before, after, row["k"], row["stride"]))
    graph = sp.load("mcunet_vww1")
    features = [op for op in graph.operators if op.kind in ("conv2d", "add")]
    assert [layer(graph, op) for op in features] == listed
    assert [op.kind for op in graph.operators[len(features) :]] == ["adaptive_avg_pool2d", "linear"]
