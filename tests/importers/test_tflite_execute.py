"""Plans for `.tflite` files on real numbers: the file's weights, in arenas of the plan's bytes."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import planners as sp
from planners.cli.commands import app
from planners.executor.tflite import execute_tflite
from planners.importers.tflite.kernels import fixed_point, windows
from planners.importers.tflite.source_model import TfliteModel
from tests.audits.cure.networks import NETWORKS, SAME, SIDES, VALID, Int8Net, branches, residual
from tests.cases import cases
from tests.importers.tflite_models import TfliteWriter


@pytest.mark.parametrize(
    ("name", "side"),
    [
        *(SIDES.items()),
        *(pytest.param(name, None, marks=pytest.mark.long) for name in SIDES),
        ("recurrent_int8", None),
    ],
)
@pytest.mark.parametrize("planner", ["cosma", "fusion", "overlap", "streaming"])
def test_plans_give_what_the_file_gives(
    name: str, side: int | None, planner: str, tmp_path: Path
) -> None:
    net = NETWORKS[name]() if side is None else NETWORKS[name](side)
    path = net.save(tmp_path / "net.tflite")
    plan = sp.plan(sp.load(path), planner, "12KiB", time_limit=600)
    done = sp.execute(plan, path)
    assert done.bit_exact
    assert "the file run in whole tensors" in dict(done.facts())["outputs"]
    assert done.arena_bytes <= 12 * 1024
    assert {value.dtype for value in done.outputs} == {np.dtype(np.int8)}
    assert not np.array_equal(done.outputs[0], sp.execute(plan, path, seed=1).outputs[0])


@pytest.mark.parametrize("name", ["mobilenet", "residual", "branches"])
def test_windows_that_are_much_are_gone_through_tap_by_tap(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = NETWORKS[name](SIDES[name]).save(tmp_path / "net.tflite")
    plan = sp.plan(sp.load(path), "cosma", "MP", time_limit=600)
    at_once = sp.execute(plan, path).outputs[0]
    monkeypatch.setattr(windows, "MOST_AT_ONCE", 0)
    assert np.array_equal(sp.execute(plan, path).outputs[0], at_once)


def test_a_map_that_is_larger_than_any_is_not_made(tmp_path: Path) -> None:
    """A stride of a file of a kilobyte, or its shape: here 2 GiB of numbers."""
    w = TfliteWriter()
    x = w.tensor((1, 4, 4, 2), "int8", name="x")
    y = w.tensor((1, 2**15, 2**15, 2), "int8", name="y")
    w.operator("CONV_2D", [x, w.weight((2, 1, 1, 2), "int8")], [y], "Conv2DOptions", StrideW=1)
    w.inputs, w.outputs = [x], [y]
    path = w.save(tmp_path / "large.tflite")
    model = TfliteModel(path)
    with pytest.raises(sp.BadInput, match=r"'y' has 2,147,483,648 elements"):
        model.outputs({t.name: v for t, v in zip(model.found.inputs, [torch.ones(1, 2, 4, 4)])})


def test_sums_of_some_channels_are_added_up(tmp_path: Path) -> None:
    """A layer that is too wide for the budget is computed from a part of its channels each time."""
    net = Int8Net((1, 4, 4, 96), seed=8)
    path = net.done(net.conv(net.conv(net.image, 96), 32)).save(tmp_path / "wide.tflite")
    plan = sp.plan(sp.load(path), "fusion", "1536B", time_limit=600)
    parts = [i for i in plan.program.instructions if getattr(i, "sums", None) is not None]
    assert parts
    assert sp.execute(plan, path).bit_exact


def test_a_plan_that_reads_too_little_gives_something_else(tmp_path: Path) -> None:
    """Weights come through the arena: those of another file give other numbers."""
    path = NETWORKS["residual"]().save(tmp_path / "net.tflite")
    plan = sp.plan(sp.load(path), "cosma", "12KiB", time_limit=600)
    model = TfliteModel(path)
    inputs = model.random_inputs(0)
    known = model.input_values(inputs)
    (weight,) = plan.graph.operators[0].parameters[:1]
    before = model.outputs(known)
    changed = model.outputs({**known, weight: torch.zeros_like(model.parameter(weight))})
    assert np.array_equal(before[0], execute_tflite(plan, path, inputs).outputs[0])
    assert not np.array_equal(before[0], changed[0])


def test_what_an_lstm_keeps(tmp_path: Path) -> None:
    path = NETWORKS["recurrent"]().save(tmp_path / "net.tflite")
    plan = sp.plan(sp.load(path), "cosma", "12KiB", time_limit=600)
    done = sp.execute(plan, path)
    assert done.bit_exact
    assert len(done.state) == 2
    assert all(value.abs().sum() > 0 for value in done.state.values())


def test_moves(tmp_path: Path) -> None:
    """Slices, splits, transposition, padding and resizing, beside NumPy."""
    w = TfliteWriter()
    x = w.tensor((1, 4, 6, 3), "int8", scale=0.1)
    w.inputs = [x]

    def like(*shape: int) -> int:
        return w.tensor(shape, "int8", scale=0.1)

    cut = w.operator(
        "SLICE", [x, w.numbers([0, 1, 2, 0]), w.numbers([1, 2, -1, 2])], [like(1, 2, 4, 2)]
    )
    stepped = w.operator(
        "STRIDED_SLICE",
        [x, w.numbers([0, 0, 1, 0]), w.numbers([1, 4, 6, 3]), w.numbers([1, 2, 2, 1])],
        [like(1, 2, 3, 3)],
        "StridedSliceOptions",
    )
    turned = w.operator("TRANSPOSE", [x, w.numbers([0, 2, 3, 1])], [like(1, 6, 3, 4)])
    halves = [like(1, 4, 3, 3), like(1, 4, 3, 3)]
    w.operator("SPLIT", [w.numbers([2]), x], halves, "SplitOptions", NumSplits=2)
    flat = w.operator("RESHAPE", [halves[1], w.numbers([1, 36])], [like(1, 36)])
    larger = w.operator(
        "RESIZE_NEAREST_NEIGHBOR", [x, w.numbers([8, 12])], [like(1, 8, 12, 3)],
        "ResizeNearestNeighborOptions",
    )  # fmt: skip
    w.outputs = [cut, stepped, turned, halves[0], flat, larger]
    path = w.save(tmp_path / "moves.tflite")
    data = np.arange(72, dtype=np.int8).reshape(1, 4, 6, 3)
    done = sp.execute(sp.plan(sp.load(path), "cosma", "4KiB"), path, [data])
    expected = [
        data[:, 1:3, 2:, :2],
        data[:, ::2, 1::2],
        data.transpose(0, 2, 3, 1),
        data[:, :, :3],
        data[:, :, 3:].reshape(1, 36),
        data.repeat(2, 1).repeat(2, 2),
    ]
    assert done.bit_exact
    for found, wanted in zip(done.outputs, expected, strict=True):
        assert np.array_equal(found, wanted)


@pytest.mark.parametrize(("activation", "least", "most"), [(1, 3, 127), (2, -17, 23), (3, 3, 123)])
def test_a_fused_activation_clamps(activation: int, least: int, most: int, tmp_path: Path) -> None:
    """RELU, RELU_N1_TO_1 and RELU6 of numbers with a zero of 3 and a step of 0.05, by hand."""
    w = TfliteWriter()
    x, y = (w.tensor((1, 16, 16, 1), "int8", scale=0.05, zero=3) for _ in range(2))
    given = {"FilterHeight": 1, "FilterWidth": 1, "StrideH": 1, "StrideW": 1}
    given["FusedActivationFunction"] = activation
    w.inputs, w.outputs = [x], [w.operator("MAX_POOL_2D", [x], [y], "Pool2DOptions", **given)]
    path = w.save(tmp_path / "clamped.tflite")
    every = np.arange(-128, 128).astype(np.int8).reshape(1, 16, 16, 1)
    (found,) = sp.execute(sp.plan(sp.load(path), "cosma", "1KiB"), path, [every]).outputs
    assert np.array_equal(found, every.clip(least, most))


def stored(w: TfliteWriter, data: np.ndarray, half: bool) -> int:
    """A weight of numbers that float16 holds: stored so behind DEQUANTIZE, or as float32."""
    short = data.astype(np.float16)
    if not half:
        return w.tensor(data.shape, data=short.astype(np.float32))
    kept = w.tensor(data.shape, "float16", short)
    return w.operator("DEQUANTIZE", [kept], [w.tensor(data.shape)])


def test_weights_behind_dequantize(tmp_path: Path) -> None:
    """Stored as float16, they give what the same numbers stored as float32 give."""
    made = []
    for half in (True, False):
        w, rng = TfliteWriter(), np.random.default_rng(3)
        x = w.tensor((1, 5, 6, 4))
        w.inputs = [x]

        filters, wide_filters, deep_bias, wide_bias, alpha = (
            stored(w, rng.standard_normal(shape), half)
            for shape in ((1, 3, 3, 4), (3, 1, 1, 4), (4,), (3,), (1, 1, 3))
        )
        given = {"StrideH": 1, "StrideW": 1, "DilationHFactor": 1, "DilationWFactor": 1}
        deep = w.operator(
            "DEPTHWISE_CONV_2D", [x, filters, deep_bias], [w.tensor((1, 5, 6, 4))],
            "DepthwiseConv2DOptions", DepthMultiplier=1, **given,
        )  # fmt: skip
        wide = w.operator(
            "CONV_2D", [deep, wide_filters, wide_bias], [w.tensor((1, 5, 6, 3))],
            "Conv2DOptions", **given,
        )  # fmt: skip
        w.outputs = [w.operator("PRELU", [wide, alpha], [w.tensor((1, 5, 6, 3))])]
        path = w.save(tmp_path / f"{half}.tflite")
        done = sp.execute(sp.plan(sp.load(path), "cosma", "8KiB"), path)
        assert done.bit_exact
        made.append(done.outputs[0])
    assert np.abs(made[0]).max() > 1
    assert np.array_equal(*made)


def test_what_has_no_kernel_is_named(tmp_path: Path) -> None:
    w = TfliteWriter()
    x = w.tensor((1, 4), name="x")
    w.inputs, w.outputs = [x], [w.operator("COS", [x], [w.tensor((1, 4), name="y")])]
    path = w.save(tmp_path / "cos.tflite")
    plan = sp.plan(sp.load(path), "cosma", "1KiB")
    with pytest.raises(sp.BadInput, match=r"operator 0 \(COS\) cannot be executed: there is no"):
        sp.execute(plan, path)
    net = Int8Net((1, 4, 4, 2))
    net.writer.tensors[net.image]["dtype"] = "uint8"
    path = net.done(net.pool(net.image, 2, 2)).save(tmp_path / "old.tflite")
    plan = sp.plan(sp.load(path), "cosma", "1KiB")
    with pytest.raises(sp.BadInput, match=r"MAX_POOL_2D\) cannot .* no kernel for uint8 to int8"):
        sp.execute(plan, path)


def test_only_the_plan_s_own_file_is_run(tmp_path: Path) -> None:
    path = NETWORKS["residual"]().save(tmp_path / "net.tflite")
    other = NETWORKS["branches"]().save(tmp_path / "other.tflite")
    plan = sp.plan(sp.load(path), "cosma", "12KiB", time_limit=600)
    with pytest.raises(sp.BadInput, match="is not the file that the plan was made from"):
        sp.execute(plan, other)
    with pytest.raises(sp.BadInput, match="is executed with that file's weights"):
        sp.execute(plan)
    with pytest.raises(sp.BadInput, match="takes the inputs t0 1x16x16x3 int8"):
        sp.execute(plan, path, [np.zeros((1, 3, 16, 16), np.int8)])


def test_the_command(tmp_path: Path) -> None:
    path = NETWORKS["residual"]().save(tmp_path / "net.tflite")
    plan = tmp_path / "plan.json"
    sp.plan(sp.load(path), "cosma", "12KiB", time_limit=600).save(plan)
    run = CliRunner().invoke(app, ["run", str(plan), "--model", str(path), "--json"])
    assert run.exit_code == 0, run.output
    assert json.loads(run.stdout)["bit_exact"] is True


def test_fixed_point() -> None:
    """Products of 32 bits are rounded twice: to 31 bits, and by the shift."""
    factor, shift = fixed_point.multiplier(0.005)
    assert (factor, shift) == (1374389535, -7)
    given = np.array([100, 101, -101, 99, -300], np.int64)
    assert fixed_point.scaled(given, factor, shift).tolist() == [1, 1, -1, 0, -2]
    assert fixed_point.multiplier(1.0) == (2**30, 1)
    real = np.linspace(-7.5, 7.5, 31)
    raw = np.round(real * 2**27).astype(np.int64)
    assert np.allclose(fixed_point.logistic(raw, 4) / 2**31, 1 / (1 + np.exp(-real)), atol=1e-7)
    assert np.allclose(fixed_point.tanh(raw, 4) / 2**31, np.tanh(real), atol=1e-7)


def test_int16_and_padding(tmp_path: Path) -> None:
    """By hand: a convolution of int16 with sums of 64 bits, at the edge and inside."""
    w = TfliteWriter()
    x = w.tensor((1, 3, 3, 1), "int16", scale=0.5)
    weight = w.tensor((1, 3, 3, 1), "int8", np.ones((1, 3, 3, 1), np.int8), scale=0.25)
    bias = w.tensor((1,), "int64", np.array([8]), scale=0.125)
    given = {"StrideH": 1, "StrideW": 1, "DilationHFactor": 1, "DilationWFactor": 1}
    made = [w.tensor((1, 3, 3, 1), "int16", scale=0.125), w.tensor((1, 1, 1, 1), "int16", scale=1)]
    for out, padding in zip(made, (SAME, VALID), strict=True):
        w.operator("CONV_2D", [x, weight, bias], [out], "Conv2DOptions", Padding=padding, **given)
    w.inputs, w.outputs = [x], made
    model = TfliteModel(w.save(tmp_path / "wide.tflite"))
    data = np.arange(9, dtype=np.int16).reshape(1, 3, 3, 1) * 1000
    same, valid = model.outputs(model.input_values([data]))
    assert same[0, 0, 0, 0] == (0 + 1 + 3 + 4) * 1000 + 8
    assert same[0, 1, 1, 0] == 32767  # saturated
    assert valid.reshape(()) == 4501  # (36000 + 8) / 8


@pytest.mark.parametrize("seed", range(cases(30, 300)))
def test_a_file_with_a_wrong_byte_is_executed_or_refused(seed: int, tmp_path: Path) -> None:
    dice, path = Random(seed), tmp_path / "net.tflite"
    data = bytearray((residual, branches)[seed % 2]().to_bytes())
    for _ in range(1 + seed % 2):
        at = dice.randrange(len(data))
        data[at] = dice.choice([0, 1, 127, 128, 255, data[at] ^ 1 << dice.randrange(8)])
    path.write_bytes(data)
    with contextlib.suppress(sp.SpillwayError):
        graph = sp.load(path, bytes_per_element="native", fold_padding=False)
        plan = sp.plan(graph, "cosma", sp.budgets(graph).MP, time_limit=1)
        sp.execute(plan, path)


@pytest.mark.parametrize("place", ["weights", "bias"])
@pytest.mark.parametrize("kind", ["string", "resource"])
def test_a_text_in_the_place_of_numbers_is_named(place: str, kind: str, tmp_path: Path) -> None:
    w = TfliteWriter()
    x, y = w.tensor((1, 8, 8, 4), name="x"), w.tensor((1, 8, 8, 8), name="y")
    reads = [x, w.weight((8, 1, 1, 4), "float32"), w.weight((8,))]
    w.operator("CONV_2D", reads, [y], "Conv2DOptions", StrideH=1, StrideW=1)
    w.inputs, w.outputs = [x], [y]
    w.tensors[reads[1 if place == "weights" else 2]]["dtype"] = kind
    with pytest.raises(sp.BadInput, match="which is not a tensor of numbers"):
        sp.load(w.save(tmp_path / "net.tflite"))
