"""Heads of kernels that ask for scratch, of state that a file places, and what the runtime refuses.

Figures are those that TensorFlow Lite Micro's interpreter records;
`benchmarks/tflm_written_back.py` draws hundreds more.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest

import planners as sp
from planners.audits.cure.tflm import planned, written
from planners.audits.readers.tflm import ARENA, METADATA, read_tflm
from planners.audits.readers.tflm_refused import NOT_THERE
from tests.audits.cure.drawn_kernels import DrawnKernels
from tests.audits.cure.kernels_by_type import ALONE
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


@pytest.mark.parametrize(
    ("kind", "types", "words"),
    [
        ("GATHER", {"T": "int16"}, "GATHER of int16"),
        ("GATHER", {"N": "int64"}, "GATHER by numbers of int64"),
        ("CAST", {"T": "float32", "U": "int64"}, "CAST of float32 to int64"),
        ("QUANTIZE", {"T": "int16", "U": "uint8"}, "QUANTIZE of int16 to uint8"),
        ("SPLIT", {"T": "int64"}, "SPLIT of int64"),
        ("SHAPE", {"N": "int64"}, "SHAPE of float32 to int64"),
        ("LESS_EQUAL", {"T": "int16"}, "LESS_EQUAL of int16"),
    ],
)
def test_a_type_that_a_kernel_does_not_take_is_named(
    kind: str, types: dict[str, str], words: str, tmp_path: Path
) -> None:
    path = ALONE[kind].file(**types).save(tmp_path / "net.tflite")
    assert planned(path)[1].unknown == (words,)
    assert read_tflm(path).notes[-1].startswith(f"{NOT_THERE}: {words};")


def test_an_element_of_four_bits_takes_a_byte(tmp_path: Path) -> None:
    assert head(ALONE["RESHAPE"].file(T="int4"), tmp_path) == 2 * 32


def test_cells_of_a_recurrent_layer(tmp_path: Path) -> None:
    """Four buffers of their size; those of 8 bits are not taken."""
    drawn = DrawnKernels(1, "lstm")
    path = drawn.save(tmp_path / "net.tflite")
    assert read_tflm(path).own_peak[ARENA] == 128
    for number in drawn.state[1:]:
        drawn.writer.tensors[number]["dtype"] = "int8"
    (missing,) = planned(drawn.save(path))[1].unknown
    assert missing == "UNIDIRECTIONAL_SEQUENCE_LSTM with cells of int8"


def test_boxes_that_are_kept_ask_for_eleven_buffers(tmp_path: Path) -> None:
    drawn = DrawnKernels(0, "detection")
    plan = read_tflm(drawn.save(tmp_path / "net.tflite"))
    assert plan.own_peak[ARENA] == 1648
    assert sum(t.id.startswith("scratch") for t in plan.tensors) == 11


@pytest.mark.parametrize("broken", [b"", b"\x01", b"\xff" * 40])
def test_options_of_a_custom_kernel_that_are_broken(broken: bytes, tmp_path: Path) -> None:
    """What it asks for is not known then."""
    drawn = DrawnKernels(0, "detection")
    kind, reads, results, options, _ = drawn.writer.operators[0]
    drawn.writer.operators[0] = (kind, reads, results, options, {"custom": broken})
    assert planned(drawn.save(tmp_path / "net.tflite"))[1].unknown == (kind,)


def test_kernels_over_types_in_the_runtime(tmp_path: Path) -> None:
    """One type of each; `benchmarks/tflm_written_back.py --kernels` takes all."""
    of_package("tflite_micro", "")
    rng, paths = Random(0), []
    for kind, kernel in ALONE.items():
        way = rng.choice(list(kernel.ways()))
        paths.append(kernel.file(**way).save(tmp_path / f"{kind}.tflite"))
    for path, own in zip(paths, ran(*paths, inputs=1), strict=True):
        try:
            plan = read_tflm(path)
        except sp.BadInput:
            assert "refused" in own, path.stem
            continue
        is_missing = plan.notes[-1].startswith(NOT_THERE)
        assert is_missing == ("refused" in own), path.stem
        assert is_missing or own["head"] == plan.own_peak[ARENA], path.stem


@pytest.mark.parametrize("first", [0, 10])
def test_drawn_files_in_the_runtime(first: int, tmp_path: Path) -> None:
    of_package("tflite_micro", "")
    sources = []
    for seed in range(first, first + 10):
        drawn = DrawnKernels(seed)
        drawn.writer.metadata.clear()
        sources.append(drawn.save(tmp_path / f"{seed}.tflite"))
    plans, paths = [], []
    for source, own in zip(sources, ran(*sources, inputs=5, keep=True), strict=True):
        try:
            file, plan = planned(source, overlap=True)
        except sp.BadInput:
            assert "refused" in own
            continue
        if "refused" in own:
            assert any(note.startswith(NOT_THERE) for note in read_tflm(source).notes)
            continue
        plans.append((own, plan))
        paths.append(tmp_path / f"{source.stem}.planned.tflite")
        written(file, plan, paths[-1])
    for (own, plan), ours in zip(plans, ran(*paths, inputs=5, keep=True), strict=True):
        assert (own["head"], ours["head"]) == (plan.own_bytes, plan.head_bytes)
        assert own["outputs"] == ours["outputs"]
