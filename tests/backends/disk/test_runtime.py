"""Networks streamed from disk: equal outputs, rings of the planned size, used again and again."""

from __future__ import annotations

import mmap
import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import planners as sp
from planners.backends.disk.layout import layout_of
from planners.backends.disk.ring import ParameterRing, RingTwice
from planners.backends.disk.run import stream
from planners.backends.disk.session import stream_model, write_weights
from planners.core.errors import BadInput
from tests.backends.disk.runtime_nets import PLENTY, Small, Tied, case


def least(small, stages: int) -> int:
    """The least budget for rings of these stages."""
    whole = small.plan(pipeline="2s" if stages == 2 else "async").details.streamed
    return sum(whole.rings.values()) + whole.activation_bytes


@pytest.mark.parametrize("stages", [2, 3])
@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_outputs_are_equal_at_three_ring_sizes(tmp_path: Path, stages: int, share: float) -> None:
    small = case(Small)
    low = least(small, stages)
    high = low + (stages - 1) * small.graph.parameter_count * 4
    plan = small.plan(int(low + share * (high - low)), stages=stages)
    done = stream(plan, small.empty, small.inputs, small.write(tmp_path, plan))
    assert done.equal is True
    assert done.max_abs_error == 0.0
    assert torch.equal(done.outputs, small.reference)
    assert done.held_bytes <= done.ring_planned_bytes
    rings = plan.details.streamed.rings
    assert done.ring_planned_bytes == sum(rings.values())
    pages = sum(-(-size // mmap.PAGESIZE) * mmap.PAGESIZE for size in rings.values())
    assert done.ring_allocated_bytes == pages
    assert done.ring_resident_bytes in (None, pages)
    assert done.activation_peak_bytes <= done.activation_planned_bytes


def test_ring_slots_are_used_again(tmp_path: Path) -> None:
    small = case(Small)
    plan = small.plan(least(small, 2), stages=2)
    done = stream(plan, small.empty, small.inputs, small.write(tmp_path, plan))
    assert done.weight_bytes > 3 * done.ring_planned_bytes
    assert done.equal
    assert 0 < done.scheduled_delay_s <= done.delay_s
    # A layer is read only once those in its bytes have run.
    layers, layout = done.layers, layout_of(plan)
    for layer, gates in zip(layers, layout.gates):
        if layer.read and gates.read.kernels:
            assert layer.read[0] >= layers[gates.read.kernels - 1].kernel[1]
        if layer.read:
            assert layer.kernel[0] >= layer.read[1]


@pytest.mark.parametrize("pipeline", ["pre", "seq", "sync", "async", "async-md", "2s", "2s-md"])
def test_every_pipeline_runs(tmp_path: Path, pipeline: str) -> None:
    small = case(Small)
    plan = small.plan(pipeline=pipeline)
    done = stream(plan, small.empty, small.inputs, small.write(tmp_path, plan))
    assert done.equal
    assert (done.layers[0].copy is None) == pipeline.startswith("2s")
    layers = [layer for layer in done.layers if layer.read]
    if pipeline == "seq":
        for before, layer in zip(layers, layers[1:]):
            assert layer.read[0] >= before.kernel[1]
    if pipeline == "pre":
        assert done.layers[0].kernel[0] >= max(layer.copy[1] for layer in layers)
        assert done.preload_s > 0


def test_shared_parameters_and_one_byte_plans_run(tmp_path: Path) -> None:
    tied = case(Tied, bytes_per_element=1)
    plan = tied.plan(stages=2)
    done = stream(plan, tied.empty, tied.inputs, tied.write(tmp_path, plan))
    assert done.equal
    assert torch.equal(done.outputs, tied.reference)
    assert done.ring_planned_bytes == 4 * plan.details.streamed.rings["shared"]
    assert any("4 times" in note for note in done.notes)


def test_a_joint_plan_runs_with_activations_beside(tmp_path: Path) -> None:
    small = case(Small)
    plan = small.plan(joint=True)
    done = stream(plan, small.empty, small.inputs, small.write(tmp_path, plan))
    assert done.equal
    assert done.held_bytes <= done.ring_planned_bytes
    assert any("jointly" in note for note in done.notes)


def test_slices_run_and_need_less(tmp_path: Path) -> None:
    small = case(Small)
    whole = small.plan(least(small, 2), stages=2)
    plan = small.plan(slices=3, pipeline="2s")
    done = stream(plan, small.empty, small.inputs, small.write(tmp_path, plan))
    assert done.ring_planned_bytes < sum(whole.details.streamed.rings.values())
    assert torch.allclose(done.outputs, small.reference, atol=1e-6)
    assert done.max_abs_error < 1e-6


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="this system maps nothing twice")
@pytest.mark.parametrize("pipeline", ["2s", "async"])
def test_rings_mapped_twice_have_no_end(tmp_path: Path, pipeline: str) -> None:
    small = case(Small)
    plan = small.plan(pipeline=pipeline, twice=True)
    layout = layout_of(plan)
    ring = layout.rings[0]
    assert any(layer.offsets[0] + layer.size_bytes > ring for layer in layout.layers)
    done = stream(plan, small.empty, small.inputs, small.write(tmp_path, plan))
    assert done.equal
    assert done.held_bytes <= done.ring_allocated_bytes == sum(layout.rings)


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="this system maps nothing twice")
def test_a_ring_mapped_twice_is_the_same_bytes() -> None:
    ring = RingTwice(mmap.PAGESIZE + 1)
    size = ring.allocated_bytes
    assert size == 2 * mmap.PAGESIZE
    ring.view(size - 2, 4)[:] = b"abcd"
    assert bytes(ring.view(0, 2)) == b"cd"
    view = ring.view(0, 2)
    ring.close()
    assert bytes(view) == b"cd"  # As long as something looks at it.


def test_repeats_report_the_median(tmp_path: Path) -> None:
    small = case(Small)
    plan = small.plan(stages=2)
    path = small.write(tmp_path, plan)
    done = stream(plan, small.empty, small.inputs, path, repeats=3, warm=1)
    assert len(done.delays_s) == len(done.runs) == 3
    assert done.delay_s == sorted(done.delays_s)[1]
    assert done.equal


def test_the_page_cache_is_said_to_be_used(tmp_path: Path) -> None:
    small = case(Small)
    plan = small.plan(stages=2)
    path = small.write(tmp_path, plan)
    done = stream(plan, small.empty, small.inputs, path, direct=False)
    assert done.equal
    assert not done.direct_io
    assert "page cache in use" in done.notes[0]


def test_threads_end_with_the_run(tmp_path: Path) -> None:
    small = case(Small)
    plan = small.plan(stages=3)
    before = set(threading.enumerate())
    stream(plan, small.empty, small.inputs, small.write(tmp_path, plan))
    assert set(threading.enumerate()) <= before


def test_other_weights_are_no_equal_outputs(tmp_path: Path) -> None:
    small = case(Small)
    plan = small.plan(stages=2)
    path = small.write(tmp_path, plan)
    done = stream(plan, small.empty, small.inputs, path, reference=small.reference + 1)
    assert done.equal is False
    assert done.max_abs_error == pytest.approx(1.0)
    assert stream(plan, small.empty, small.inputs, path, compare=False).equal is None


def test_the_modules_own_parameters_are_not_used(tmp_path: Path) -> None:
    small = case.__wrapped__(Small)
    plan = small.plan(stages=2)
    path, wanted = small.write(tmp_path, plan), small.reference.clone()
    with torch.no_grad():
        for parameter in small.module.parameters():
            parameter.fill_(float("nan"))
    done = stream(plan, small.module, small.inputs, path)
    assert torch.equal(done.outputs, wanted)


def test_a_catalogue_model_streams_by_its_name() -> None:
    graph = sp.load("squeezenet1_1", input_shape=(1, 3, 64, 64), bytes_per_element=4)
    plan = sp.plan(graph, "streaming", PLENTY, "jetson_xavier", pipeline="2s")
    done = stream_model(plan, seed=3)
    assert done.equal
    assert done.ring_planned_bytes < done.weight_bytes / 2


def test_a_ring_is_its_planned_bytes_in_pages() -> None:
    ring = ParameterRing(3 * mmap.PAGESIZE + 1)
    assert ring.allocated_bytes == 4 * mmap.PAGESIZE
    assert ring.address % mmap.PAGESIZE == 0
    assert ring.resident_bytes() in (None, ring.allocated_bytes)
    ring.close()
    with pytest.raises(BadInput, match="cannot allocate a ring"):
        ParameterRing(2**60)


def test_plans_that_do_not_stream(tmp_path: Path) -> None:
    small = case(Small)
    plan = small.plan(stages=2)
    path = small.write(tmp_path, plan)

    def run(plan: sp.Plan) -> None:
        stream(plan, small.empty, small.inputs, path)

    with pytest.raises(BadInput, match="a cosma plan does not stream"):
        run(sp.plan(small.graph, "cosma", "MP"))
    details = plan.to_json()["details"]["streaming"]
    cases = [
        ({"rings": {"shared": 100}}, r"has \d+ bytes of parameters, the ring 100"),
        ({"rings": {}}, "malformed plan"),
        ({"rings": {"shared": 2**40}}, "rings are allocated as planned: .* are over"),
        ({"layers": details["layers"][1:]}, "not the graph's operators in their order"),
        ({"layers": [{**details["layers"][0], "size_bytes": 3}]}, "the plan says otherwise"),
        ({"layers": [{**details["layers"][0], "parameters": []}]}, "the plan says otherwise"),
        ({"layers": [{**details["layers"][0], "operator": "none"}]}, "malformed plan: .*none"),
    ]
    for change, message in cases:
        with pytest.raises(BadInput, match=message):
            run(replace(plan, details={"streaming": {**details, **change}}))
    with pytest.raises(BadInput, match="repeats must be 1 or more"):
        stream(plan, small.empty, small.inputs, path, repeats=0)
    with pytest.raises(BadInput, match="device 'tpu' is not cpu or cuda"):
        stream(plan, small.empty, small.inputs, path, device="tpu")


def test_a_module_that_is_not_the_graphs(tmp_path: Path) -> None:
    small, tied = case(Small), case(Tied)
    plan = small.plan(stages=2)
    path = small.write(tmp_path, plan)
    with pytest.raises(BadInput):
        stream(plan, tied.empty, tied.inputs, path)
    with pytest.raises(BadInput, match="no parameter named"):
        write_weights(tmp_path / "other", plan, tied.module, tied.inputs)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("pipeline", ["pre", "seq", "sync", "async", "async-md", "exact"])
def test_on_a_gpu_of_its_own_memory(tmp_path: Path, pipeline: str) -> None:
    small = case(Small)
    options = {"stages": 3} if pipeline == "exact" else {}
    plan = small.plan(pipeline=pipeline, **options)
    path = small.write(tmp_path, plan)
    done = stream(plan, small.empty, small.inputs, path, device="cuda", repeats=3)
    assert done.equal  # To the model preloaded there.
    assert torch.allclose(done.outputs.cpu(), small.reference, atol=1e-5)
    assert done.held_bytes <= done.ring_planned_bytes


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_without_a_gpu_cuda_is_refused(tmp_path: Path) -> None:
    small = case(Small)
    plan = small.plan(stages=3)
    with pytest.raises(BadInput, match="no CUDA device: run with device cpu"):
        stream(plan, small.empty, small.inputs, small.write(tmp_path, plan), device="cuda")
