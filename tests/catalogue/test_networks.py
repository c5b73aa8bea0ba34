"""Our own networks: counted, compared with what is published, and run bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

import planners as sp
from planners.catalogue.loading import trace
from planners.catalogue.names import OWN, TIMM_SUGGESTED, default_inputs
from planners.catalogue.networks import amoebanet_d
from planners.catalogue.networks.amoebanet_d import AmoebaNetD
from planners.catalogue.networks.darknet import NETWORKS
from planners.catalogue.networks.darts import Darts
from planners.catalogue.networks.mcunet import TABLES, mcunet
from planners.catalogue.torch_models import transformer
from planners.core.errors import BadInput, UnknownName
from planners.importers.passes import GRANULARITIES

OPERATORS = {
    "amoebanet_d": (1050, 770, 500),
    "darts": (715, 548, 389),
    "mcunet_vww1": (131, 85, 55),
    "mcunet_in0": (131, 85, 55),
    "mcunet_in1": (122, 79, 51),
    "mcunet_in2": (158, 103, 67),
    "mcunet_in3": (158, 103, 67),
    "mcunet_in4": (149, 97, 63),
    "transformer": (512, 158, 146),
}
"""At `aten`, `folded` and `fused`."""
MACS = {
    "amoebanet_d": 14_193_506_656,
    "darts": 529_911_552,
    "mcunet_vww1": 11_578_816,
    "mcunet_in0": 6_364_224,
    "mcunet_in1": 12_790_096,
    "mcunet_in2": 67_287_200,
    "mcunet_in3": 81_785_520,
    "mcunet_in4": 125_874_400,
    "transformer": 21_276_917_760,
}


def learned(module: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def test_parameters() -> None:
    with torch.device("meta"):
        assert learned(Darts()) == 4_718_752
        assert learned(AmoebaNetD()) == 121_911_016
        assert learned(transformer()) == 44_140_544


@pytest.mark.parametrize(
    ("cells", "filters", "count"),
    [
        (18, 208, 82e6),
        *(
            pytest.param(*each, marks=pytest.mark.long)
            for each in [(18, 416, 318e6), (18, 544, 542e6), (36, 544, 1.05e9)]
        ),
    ],
)
def test_amoebanet_d_is_within_a_fiftieth_of_the_published_sizes(
    cells: int, filters: int, count: float
) -> None:
    with torch.device("meta"):
        assert learned(AmoebaNetD(cells, filters)) == pytest.approx(count, rel=0.02)


@pytest.mark.parametrize("name", sorted(OWN.keys() - NETWORKS.keys()))
def test_operators_and_macs_of_what_is_shipped(name: str) -> None:
    graphs = [sp.load(name, granularity=g) for g in GRANULARITIES[1:]]
    assert tuple(len(graph.operators) for graph in graphs) == OPERATORS[name][1:]
    assert {graph.macs for graph in graphs} == {MACS[name]}
    assert tuple(graphs[0].tensors[x].shape for x in graphs[0].inputs) == default_inputs(name)


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(OWN.keys() - NETWORKS.keys()))
def test_operators_and_macs(name: str) -> None:
    graphs = [trace(name, default_inputs(name), g) for g in GRANULARITIES]
    assert tuple(len(graph.operators) for graph in graphs) == OPERATORS[name]
    assert {graph.macs for graph in graphs} == {MACS[name]}
    assert tuple(graphs[0].tensors[x].shape for x in graphs[0].inputs) == default_inputs(name)
    assert graphs[1] == sp.load(name, granularity="folded")
    assert graphs[2] == sp.load(name)


def test_operators_and_macs_of_a_few_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """By hand, of MCUNet's first three blocks: 9 convolutions, 6 of them with an activation."""
    table = TABLES["mcunet_vww1"]
    monkeypatch.setitem(TABLES, "mcunet_vww1", table._replace(blocks=table.blocks[:3]))
    shapes = ((1, 3, 32, 40),)
    graphs = [trace("mcunet_vww1", shapes, g) for g in GRANULARITIES]
    fused = 9 + len(("add", "pool", "linear"))
    assert [len(graph.operators) for graph in graphs] == [fused + 6 + 9 + 1, fused + 6, fused]
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        mcunet("mcunet_vww1").eval()(torch.zeros(shapes[0]))
    assert {2 * graph.macs for graph in graphs} == {counter.get_total_flops()}


@pytest.mark.parametrize(("name", "reductions"), [("amoebanet_d", 4), ("darts", 3)])
def test_an_activation_stays_alone_only_where_two_operators_read_it(
    name: str, reductions: int
) -> None:
    graph = sp.load(name)
    alone = [op for op in graph.operators if op.kind == "relu"]
    assert len(alone) == reductions
    for relu in alone:
        assert sum(relu.outputs[0] in op.inputs for op in graph.operators) == 2


SMALL: dict[str, tuple[Any, tuple[tuple[int, ...], ...]]] = {
    "amoebanet_d": (lambda: AmoebaNetD(filters=16), ((1, 3, 32, 40),)),
    "darts": (lambda: Darts(cells=3, channels=8), ((2, 3, 32, 48),)),
    "transformer": (lambda: transformer(layers=1), ((3, 2, 512), (5, 2, 512))),
}
USUAL = {("amoebanet_d", "fused"), ("darts", "folded"), ("transformer", "aten")}


def often(name: str, granularity: str) -> Any:
    """Each is run at one granularity, and at the others when there is time."""
    marks = () if (name, granularity) in USUAL else pytest.mark.long
    return pytest.param(name, granularity, marks=marks)


@pytest.mark.parametrize(
    ("name", "granularity"), [often(n, g) for n in SMALL for g in GRANULARITIES]
)
def test_small_ones_run_bit_for_bit(
    name: str, granularity: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(  # A reduction and a normal cell.
        amoebanet_d, "_layout", lambda cells, filters: [(True, filters), (False, filters)]
    )
    make, shapes = SMALL[name]
    module, inputs = make().eval(), tuple(torch.randn(shape) for shape in shapes)
    graph = sp.from_torch(module, inputs, granularity=granularity)
    plan = sp.plan(graph, budget="MR", time_limit=600)
    sp.check(plan)
    done = sp.execute(plan, module, inputs)
    assert done.bit_exact
    assert done.arena_bytes == 4 * plan.budget_bytes


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        pytest.param("amoebanet_d", (1, 3, 64, 64), marks=pytest.mark.long),
        pytest.param("darts", (1, 3, 64, 64), marks=pytest.mark.long),
        pytest.param("transformer", ((3, 2, 512), (4, 2, 512)), marks=pytest.mark.long),
        ("mcunet_vww1", (1, 3, 32, 40)),  # Of three blocks.
    ],
)
def test_whole_ones_run_bit_for_bit(
    name: str, shape: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPILLWAY_CACHE", str(tmp_path))
    table = TABLES["mcunet_vww1"]
    monkeypatch.setitem(TABLES, "mcunet_vww1", table._replace(blocks=table.blocks[:3]))
    done = sp.execute(sp.plan(sp.load(name, input_shape=shape), budget="MR"))
    assert done.bit_exact
    assert all(value.isfinite().all() and value.std() > 1e-3 for value in done.outputs)


SIDES = (331, 224)


@pytest.mark.parametrize("name", TIMM_SUGGESTED)
def test_searched_networks_of_timm_are_one_network_at_two_sizes(name: str) -> None:
    graphs = [sp.load(name, input_shape=(1, 3, side, side)) for side in SIDES]
    ops = [[(op.name, op.kind, op.inputs, op.parameters) for op in g.operators] for g in graphs]
    assert ops[0] == ops[1]
    assert [g.tensors[g.inputs[0]].shape[-1] for g in graphs] == list(SIDES)


@pytest.mark.long
@pytest.mark.parametrize("name", TIMM_SUGGESTED)
def test_searched_networks_of_timm_are_shipped_as_imported(name: str) -> None:
    assert sp.load(name) == trace(name, None, "fused")
    small = ((1, 3, 224, 224),)
    assert sp.load(name, input_shape=small[0]) == trace(name, small, "fused")


def test_names_and_shapes() -> None:
    for wrong, right in (("transformers", "transformer"), ("amoebanet", "amoebanet_d")):
        with pytest.raises(UnknownName) as caught:
            sp.load(wrong)
        assert caught.value.nearest[0] == right
    with pytest.raises(BadInput, match="transformer takes 10x32x512 and 20x32x512, not 1x3x8x8"):
        sp.load("transformer", input_shape=(1, 3, 8, 8))
    with pytest.raises(BadInput, match="cannot take the input"):
        sp.load("transformer", input_shape=((10, 32, 256), (20, 32, 256)))
