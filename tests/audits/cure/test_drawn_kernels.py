"""Heads of kernels that ask for scratch, of state that a file places, and what the runtime refuses.

Figures are those that TensorFlow Lite Micro's interpreter records;
`benchmarks/tflm_written_back.py` draws hundreds more.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import planners as sp
from planners.audits.cure.tflm import planned, written
from planners.audits.readers.tflm import ARENA, METADATA, read_tflm
from planners.audits.readers.tflm_refused import NOT_THERE
from tests.audits.cure.drawn_kernels import DrawnKernels
from tests.audits.cure.runtime import of_package, ran
from tests.importers.tflite_models import TfliteWriter


def head(net: TfliteWriter, folder: Path) -> int:
    return read_tflm(net.save(folder / "net.tflite")).own_peak[ARENA]


def test_mirrored_padding_counts_along_each_axis(tmp_path: Path) -> None:
    w = TfliteWriter()
    w.inputs = [w.tensor((2, 3), "float32")]
    pads = w.tensor((2, 2), "int32", np.array([[1, 1], [0, 2]], np.int32))
    made = w.tensor((4, 5), "float32")
    w.outputs = [w.operator("MIRROR_PAD", [*w.inputs, pads], [made], "MirrorPadOptions", Mode=0)]
    assert head(w, tmp_path) == 32 + 80 + 2 * 16


def test_a_reduction_to_all_asks_as_the_others_do(tmp_path: Path) -> None:
    w = TfliteWriter()
    w.inputs = [w.tensor((4, 3), "bool")]
    words = [*w.inputs, w.numbers([0, 1])]
    made = w.tensor((), "bool")
    w.outputs = [w.operator("REDUCE_ALL", words, [made], "ReducerOptions", KeepDims=False)]
    assert head(w, tmp_path) == 16 + 16 + 2 * 16


def filtered(offsets: dict[str, int], version: int = 1) -> tuple[TfliteWriter, dict[str, int]]:
    """An SVDF with its state, and another layer behind; offsets by name, the others left open."""
    w = TfliteWriter()
    x = w.tensor((1, 3), "float32", name="x")
    words = [x, w.weight((4, 3)), w.weight((4, 8)), w.weight((4,))]
    state = w.tensor((1, 32), "float32", name="state", variable=True)
    mid, end = w.tensor((1, 4), "float32", name="mid"), w.tensor((1, 4), "float32", name="end")
    w.operator("SVDF", [*words, state], [mid], "SVDFOptions", Rank=1)
    w.operator("RELU", [mid], [end])
    w.inputs, w.outputs = [x], [end]
    names = {tensor["name"]: number for number, tensor in enumerate(w.tensors)}
    numbers = [offsets.get(tensor["name"], -1) for tensor in w.tensors]
    words_of = np.array([version, 0, len(numbers), *numbers], "<i4")
    if offsets:
        w.metadata[METADATA] = words_of.tobytes()
    return w, names


def test_state_that_the_file_places_is_in_the_head(tmp_path: Path) -> None:
    assert head(filtered({})[0], tmp_path) == 3 * 16
    assert head(filtered({"state": 16})[0], tmp_path) == 16 + 128 + 2 * 16
    assert head(filtered({"state": 16}, version=0)[0], tmp_path) == 16 + 128 + 2 * 16


def test_state_lives_in_every_step(tmp_path: Path) -> None:
    """A map over it, placed where it is last read, costs what it has kept."""
    net, names = filtered({"state": 0, "end": 0})
    found = sp.audit(net.save(tmp_path / "net.tflite"))
    assert found.broken
    state = next(t for t in found.plan.tensors if t.name == "state")
    assert (state.id, state.lower, state.upper) == (str(names["state"]), 0, 3)


@pytest.mark.parametrize(
    ("dtype", "weights", "reason"),
    [
        ("float32", "int8", "no maps of float32 by weights of int8 .a hybrid model."),
        ("int16", "int16", "no maps of int16 by weights of int16"),
    ],
)
def test_what_the_runtime_refuses_is_refused(
    dtype: str, weights: str, reason: str, tmp_path: Path
) -> None:
    w = TfliteWriter()
    x = w.tensor((1, 4), dtype, scale=0.1)
    held = np.zeros(8, np.int16 if weights == "int16" else np.int8)
    words = [x, w.tensor((2, 4), weights, held, name="w", scale=0.1)]
    made = w.tensor((1, 2), dtype, scale=0.1)
    w.inputs = [x]
    w.outputs = [w.operator("FULLY_CONNECTED", words, [made], "FullyConnectedOptions")]
    path = w.save(tmp_path / "net.tflite")
    for judge in (read_tflm, planned):
        with pytest.raises(sp.BadInput, match=rf"Micro does not run .*FULLY_CONNECTED.*{reason}"):
            judge(path)


def test_an_operator_without_a_kernel_is_named(tmp_path: Path) -> None:
    """As are floats of 16 bits, which DEQUANTIZE does not read."""
    w = TfliteWriter()
    x, y, half = w.tensor((4,)), w.tensor((4,)), w.tensor((4,), "float16")
    w.inputs = [x, half]
    gelu = w.operator("GELU", [x], [y], "GeluOptions")
    w.outputs = [gelu, w.operator("DEQUANTIZE", [half], [w.tensor((4,))], "DequantizeOptions")]
    path = w.save(tmp_path / "net.tflite")
    notes = read_tflm(path).notes
    assert [note for note in notes if note.startswith(NOT_THERE)] == [
        f"{NOT_THERE}: DEQUANTIZE of float16, GELU; its own may ask for scratch too"
    ]
    assert planned(path)[1].unknown == ("DEQUANTIZE of float16", "GELU")


@pytest.mark.parametrize("first", [0, 10])
def test_drawn_files_in_the_runtime(first: int, tmp_path: Path) -> None:
    of_package("tflite_micro", "")
    for seed in range(first, first + 10):
        drawn = DrawnKernels(seed)
        drawn.writer.metadata.clear()
        source = drawn.save(tmp_path / f"{seed}.tflite")
        (own,) = ran(source, inputs=5, keep=True)
        try:
            file, plan = planned(source, overlap=True)
        except sp.BadInput:
            assert "refused" in own
            continue
        if "refused" in own:
            assert any(note.startswith(NOT_THERE) for note in read_tflm(source).notes)
            continue
        written(file, plan, tmp_path / "planned.tflite")
        (ours,) = ran(tmp_path / "planned.tflite", inputs=5, keep=True)
        assert (own["head"], ours["head"]) == (plan.own_bytes, plan.head_bytes)
        assert own["outputs"] == ours["outputs"]
