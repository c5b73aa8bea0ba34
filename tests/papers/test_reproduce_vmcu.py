"""The vMCU comparison: formulas by hand, forms against plans, and what the report claims."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import planners as sp
from planners.catalogue.vmcu import POINTWISE, TABLE_2, BottleneckShape, Pointwise, bottleneck
from planners.core.errors import UnknownName
from planners.papers.memo import Memo
from planners.papers.vmcu.accounts import (
    STATIC_BYTES,
    FormWindow,
    footprint,
    fully_connected,
    layer_row,
    line_bytes,
    module_row,
    needs,
    of_layer,
    of_module,
    saved,
    vmcu,
)
from planners.papers.vmcu.paper import MeasuredClaim, claims
from planners.papers.vmcu.plans import by_form
from planners.papers.vmcu.report import facts, report
from planners.papers.vmcu.study import (
    NETWORKS,
    SIZES,
    VmcuStudy,
    VmcuTables,
    grown,
    headroom_row,
    reproduce,
)

BLOCKS = (
    BottleneckShape("residual", 6, 4, 12, 4, 3),
    BottleneckShape("strided", 8, 3, 10, 5, 5, (1, 2, 1)),
    BottleneckShape("wider", 5, 3, 7, 6, 3),
    BottleneckShape("narrower", 5, 6, 7, 3, 5),
)


def test_fully_connected_as_in_figure_1() -> None:
    # 2×3 segments in, 2×2 out: 7, where tensors apart need 10.
    assert fully_connected(2, 3, 2) == 7
    assert fully_connected(2, 2, 3) == 7
    assert fully_connected(80 * 80, 16, 16) == 102_400 + 15


@pytest.mark.parametrize("padding", [0, 1, 2])
def test_distance_of_a_convolution_that_keeps_its_size(padding: int) -> None:
    # Same padding, stride 1, C = K: d = (p·W + p)·C.
    slide = FormWindow(7, 5, 4, 7, 5, 4, padding=padding)
    assert slide.distance == (padding * 5 + padding) * 4
    assert slide.footprint == 7 * 5 * 4 + slide.distance


def test_need_of_a_strided_convolution() -> None:
    slide = FormWindow(6, 6, 2, 3, 3, 8, stride=2, padding=1)
    assert slide.need(0, 0) == 2 * 1
    assert slide.need(0, 2) == 2 * 6  # row 1 begins at row 1 of A
    assert slide.need(1, 0) == 2 * (6 + 1)
    assert slide.need(2, 2) == 2 * 36  # nothing is needed any more
    assert footprint(10, -3, 4) == 10
    assert footprint(10, 2, 20) == 20


def test_workspace_of_each_form() -> None:
    module = BottleneckShape("t", 8, 4, 12, 4, 3)
    found = needs(module, tile=2)
    assert found["window"].workspace_bytes == 10 * 12 + 4
    assert found["tile"].workspace_bytes == 10 * 2 + 4 * 4
    assert line_bytes(module) == (2 * 8 + 3 + 1) * 12 + 4
    # A residual and a line buffer: E lies exactly on A.
    assert found["line"].pool_bytes == 8 * 8 * 4
    assert found["line"].extra_macs == 0 < found["columns"].extra_macs < found["window"].extra_macs


@pytest.mark.parametrize("module", BLOCKS, ids=lambda module: module.name)
def test_plans_need_what_the_closed_forms_say(module: BottleneckShape) -> None:
    graph = bottleneck(module)
    ours, closed = by_form(graph, 9.0), needs(module, tile=1)
    apart = 0 if module.residual else module.c_out  # written straight into the pool
    assert set(ours) == set(closed)
    for form, row in ours.items():
        assert row["checked"], form
        assert row["extra_macs"] == closed[form].extra_macs
    for form in ("line", "window"):
        assert ours[form]["workspace"] == closed[form].workspace_bytes - apart
        assert ours[form]["bytes"] == closed[form].total_bytes - apart
    # What of a window is kept need not be read again: A may go sooner.
    assert ours["columns"]["bytes"] <= ours["window"]["bytes"]
    # A channel is written at once, not a pixel (up to K − 1 bytes), and offsets are fixed.
    most = 2 * max(graph.tensors[t].shape[1] for t in "BCD")
    assert abs(ours["plain"]["bytes"] - closed["plain"].total_bytes) <= most


def test_accountings_of_a_block_by_hand() -> None:
    # A, D: 4·4·2 = 32; B, C: 4·4·6 = 96. d = (4 + 1)·2.
    found = of_module(BottleneckShape("t", 4, 2, 6, 2, 3))
    assert found["tensors"] == {"vMCU": 42, "TinyEngine": 160, "HMCOS": 224}
    window = 10 * 6 + 2
    assert found["workspace"] == {"vMCU": 42 + window, "TinyEngine": 160 + 72, "HMCOS": 224}
    rows = {
        "vMCU": (32 + 8) + (3 * 24 + 24) + 8,
        "TinyEngine": 32 + 96 + 32 + 36,
        "HMCOS": 32 + 96 + 96,
    }
    assert found["rows"] == {system: n + STATIC_BYTES for system, n in rows.items()}


def test_accountings_of_a_layer_by_hand() -> None:
    found = of_layer(Pointwise("t", 4, 2, 6))
    assert found["tensors"] == {"vMCU": 96 + 1, "TinyEngine": 128}
    assert found["workspace"] == {"vMCU": 97, "TinyEngine": 128 + 4 * 2}
    assert saved(found["tensors"], "TinyEngine") == 1 - 97 / 128


@pytest.fixture(scope="module")
def told() -> dict[str, MeasuredClaim]:
    """Claims from the printed shapes alone: no plan is needed for the paper's systems."""
    layers, modules = map(layer_row, POINTWISE), map(module_row, TABLE_2)
    return {claim.what: claim for claim in claims(list(layers), list(modules))}


def test_which_accounting_reproduces_what(told: dict[str, MeasuredClaim]) -> None:
    image = "MCUNet-320KB-ImageNet"
    tiny = told[f"{image}: TinyEngine's bottleneck"]
    assert tiny.here["tensors"] == 247_808  # A + B of B2, exactly
    assert tiny.reproduced_by == ["tensors"]
    ours = told[f"{image}: vMCU's bottleneck"]
    assert ours.reproduced_by == ["rows"]
    assert set(ours.where.values()) == {"B1"}
    assert told[f"{image}: HMCOS's bottleneck"].reproduced_by == []
    words = "MCUNet-5fps-VWW: RAM saved against"
    assert told[f"{words} TinyEngine, most"].where["rows"] == "S1"
    assert told[f"{words} TinyEngine, most"].reproduced_by == ["rows"]
    assert told[f"{words} HMCOS, most"].reproduced_by == ["rows"]
    assert told[f"{image}: RAM saved against HMCOS, most"].note.startswith("89.5%")
    assert all(c.reproduced_by for c in told.values() if "arithmetic" in c.here)


def test_three_maps_are_what_the_paper_gives_hmcos() -> None:
    third = TABLE_2["B3"]
    assert 3 * third.size**2 * third.mid == 464_640


def test_a_part_of_the_modules_is_no_range() -> None:
    few = claims([], [module_row("S1")])
    assert all("arithmetic" in claim.here for claim in few)


def test_how_far_a_claim_is_off() -> None:
    claim = MeasuredClaim("x", 1000.0, {"tensors": 900.0, "rows": 1010.0, "plan": 1000.0}, "bytes")
    assert claim.reproduced_by == []
    assert claim.nearest == "rows"
    assert claim.off("rows") == pytest.approx(0.01)
    assert replace(claim, here={"rows": 1004.0}).reproduced_by == ["rows"]


@pytest.fixture(scope="module")
def small() -> VmcuTables:
    return reproduce(replace(VmcuStudy.small(), modules=("S7",)), Memo())


def test_our_plans_beside_others(small: VmcuTables) -> None:
    (module,), (network,) = small.modules, small.networks
    assert module["ours"]["line"]["checked"]
    assert module["plan"]["vMCU"] == module["ours"]["line"]["bytes"] < module["plan"]["TinyEngine"]
    assert network["checked"]
    assert network["proven"]
    assert network["ram"] == network["front"][0]["ram_bytes"] < network["HMCOS"]["bytes"]
    falling = [point["ram_bytes"] for point in network["front"]]
    rising = [point["extra_macs"] for point in network["front"]]
    assert falling == sorted(falling, reverse=True)
    assert rising == sorted(rising)
    assert round(network["TinyEngine"]["bytes"] / 1024) == network["published_kib"]


def test_the_report_says_what_the_rows_do(small: VmcuTables) -> None:
    text = str(report(small, VmcuStudy.small()))
    module = small.modules[0]
    assert "`spillway reproduce vmcu --quick` computes all of this anew" in text
    assert f"| {module['ours']['line']['bytes']:,} |" in text
    assert "C_out is 24 in S3" in text
    assert "| mcunet_in0 | 45.0 | 48.89 | 49 | yes |" in text
    assert "Latency, vMCU and TinyEngine (7.3)" in {c["what"] for c in facts(small)["claims"]}


def test_costs_and_headroom_beside_the_paper(small: VmcuTables) -> None:
    (costs,), (growth,) = small.module_costs, small.headroom
    assert costs["paper"] == {"vMCU": 34, "TinyEngine": 36}
    # Nothing is computed twice in a line, and everything under a window.
    assert costs["ms"]["line"] < costs["ms"]["columns"] < costs["ms"]["window"]
    for axis in ("image", "channels", "width"):
        assert growth[axis]["tensors"] >= growth[axis]["workspace"]
        assert growth[axis]["plan"] >= 1
    assert [row["layer"] for row in small.layer_costs] == list(POINTWISE)


def test_growth_is_the_last_that_fits() -> None:
    module = TABLE_2["S1"]
    row = headroom_row("S1", 9.0)
    limit = of_module(module)["rows"]["TinyEngine"]
    for axis, now in (("image", module.size), ("channels", module.c_in)):
        size = round(row[axis]["rows"] * now)
        assert vmcu(grown(module, axis, size))["rows"] <= limit
        assert vmcu(grown(module, axis, size + 1))["rows"] > limit


def test_a_report_of_nothing_is_short() -> None:
    text = str(report(VmcuTables(), VmcuStudy()))
    assert "## Whole networks" not in text
    assert "## How to read it" in text


def test_what_was_done_is_not_done_again(tmp_path: Path, monkeypatch: Any) -> None:
    file, said = tmp_path / "done.jsonl", []
    study = VmcuStudy(layers=(), modules=("S8",), networks=())
    first = reproduce(study, Memo(file, said.append))
    assert said == ["module S8", "costs of module S8", "headroom S8"]
    monkeypatch.setattr("planners.papers.vmcu.study.by_form", None)
    assert reproduce(study, Memo(file)) == first


def test_networks_and_modules_are_chosen_by_name() -> None:
    study = VmcuStudy().only(("S1", "mobilenet_v2@96"))
    assert (study.modules, study.networks) == (("S1",), ("mobilenet_v2@96",))
    assert sp.load("mobilenet_v2", input_shape=SIZES["mobilenet_v2@96"]).tensors["x"].shape[2] == 96
    with pytest.raises(UnknownName, match="mobilenet_v9"):
        VmcuStudy().only(("mobilenet_v9",))
    assert {name.partition("@")[0] for name in NETWORKS} <= set(sp.models())
