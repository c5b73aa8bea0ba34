"""Weights files: the documented format, in streaming order, and everything that is wrong."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest
import torch

from planners.backends.disk.layout import Held, layout_of
from planners.backends.disk.weights import (
    BLOCK,
    HEADER_LIMIT,
    read_header,
    starts_of,
    write_file,
)
from planners.core.errors import BadInput
from tests.backends.disk.runtime_nets import Small, Tied, case

HELD = [
    [Held("a", "a", ((0, 3), (0, 2)), "F32"), Held("b", "b", (), "I32")],
    [],
    [Held("c", "c", ((0, 1024),), "F32")],
]


def written(folder: Path) -> Path:
    path = folder / "w.safetensors"
    values = [
        np.arange(6, dtype=np.float32),
        np.array([7], np.int32),
        np.arange(1024, dtype=np.float32),
    ]
    write_file(path, HELD, [memoryview(value).cast("B") for value in values])
    return path


def remade(path: Path, change) -> None:
    """The file with its header changed and its data as they were."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    text = change(header)
    text = json.dumps(header if text is None else text).encode() if text != b"" else b"{"
    path.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + length :])


def test_layers_lie_together_at_whole_blocks(tmp_path: Path) -> None:
    found = read_header(written(tmp_path))
    assert found["a"].start % BLOCK == 0
    assert found["b"].start == found["a"].stop
    assert found["c"].start % BLOCK == 0
    assert found["c"].start - found["a"].start == BLOCK


def test_the_package_reads_what_is_written(tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors.numpy")
    found = safetensors.load_file(written(tmp_path))
    assert found["a"].tolist() == [[0, 1], [2, 3], [4, 5]]
    assert found["b"].tolist() == 7
    assert found["c"].shape == (1024,)


def test_the_same_file_is_made_of_a_module(tmp_path: Path) -> None:
    small = case(Small)
    plan = small.plan()
    path = small.write(tmp_path, plan)
    layout = layout_of(plan)
    starts = starts_of(path, layout)
    streamed = [start for start, layer in zip(starts, layout.layers) if layer.size_bytes]
    assert streamed == sorted(streamed)
    assert all(start % BLOCK == 0 for start in streamed)
    found = read_header(path)["last.weight"]
    raw = np.frombuffer(path.read_bytes()[found.start : found.stop], np.float32)
    assert np.array_equal(raw, small.module.last.weight.detach().numpy().reshape(-1))


def test_parameters_read_again_are_stored_again(tmp_path: Path) -> None:
    tied = case(Tied)
    names = read_header(tied.write(tmp_path, tied.plan()))
    assert {"same.weight", "same.weight@2", "other.weight"} <= set(names)


@pytest.mark.parametrize(
    ("cut", "message"),
    [
        (lambda data: data[:5], r"truncated: 5 bytes, 3 missing for its length"),
        (lambda data: data[:100], r"truncated: 3996 bytes of its header are missing"),
        (
            lambda data: data[:-8],
            r"truncated: tensor 'c' ends at byte 12288, the file has 12280: 8 bytes are missing",
        ),
        (lambda data: data + b"12", r"2 bytes belong to no tensor"),
        (
            lambda data: struct.pack("<Q", HEADER_LIMIT + 1) + data[8:],
            rf"a header of {HEADER_LIMIT + 1} bytes is over the limit of {HEADER_LIMIT}",
        ),
    ],
)
def test_a_file_cut_short_or_too_long(tmp_path: Path, cut, message: str) -> None:
    path = written(tmp_path)
    path.write_bytes(cut(path.read_bytes()))
    with pytest.raises(BadInput, match=message) as caught:
        read_header(path)
    assert str(path) in str(caught.value)


def entry(name: str, **fields):
    def change(header) -> None:
        header[name] |= fields

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda header: [1], "no JSON object"),
        (lambda header: b"", "header is malformed"),
        (lambda header: {**header, "a": 3}, "'a': its entry is not an object"),
        (entry("a", dtype="P32"), "'a': unknown dtype 'P32'"),
        (entry("a", dtype=["F32"]), "'a': unknown dtype"),
        (entry("a", dtype="F64"), r"'a': 24 bytes in the file, F64 of shape \[3, 2\] takes 48"),
        (entry("a", shape=[3, -2]), "'a': shape must be whole numbers"),
        (entry("a", shape=[True, 6]), "'a': shape must be whole numbers"),
        (entry("a", data_offsets=[24, 0]), "'a': data_offsets must be a start and a stop"),
        (entry("a", data_offsets=[0, 24, 1]), "'a': data_offsets must be"),
        (entry("b", data_offsets=[20, 24]), "tensors 'a' and 'b' overlap"),
        (entry("c", data_offsets=[2**40, 2**40 + 4096]), "'c' ends at byte .* are missing"),
        (lambda header: header.pop(".pad.1") and None, "bytes belong to no tensor"),
    ],
)
def test_a_header_that_is_wrong(tmp_path: Path, change, message: str) -> None:
    path = written(tmp_path)
    remade(path, change)
    with pytest.raises(BadInput, match=message):
        read_header(path)


def test_a_name_twice(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    one = '"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}'
    text = f"{{{one},{one}}}".encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text)
    with pytest.raises(BadInput, match="a name is there twice"):
        read_header(path)


def test_a_file_of_another_network(tmp_path: Path) -> None:
    small, tied = case(Small), case(Tied)
    path = tied.write(tmp_path, tied.plan())
    with pytest.raises(BadInput, match="tensor 'first.0.weight' .* is missing"):
        starts_of(path, layout_of(small.plan()))


def test_a_file_of_another_shape_or_order(tmp_path: Path) -> None:
    tied = case(Tied)
    layout = layout_of(tied.plan())
    path = tied.write(tmp_path, tied.plan())
    remade(path, entry("same.bias", dtype="I32"))
    with pytest.raises(BadInput, match=r"'same.bias' is I32 of shape \[16\], the plan needs F32"):
        starts_of(path, layout)
    # Its own writer knows nothing of streaming.
    safetensors = pytest.importorskip("safetensors.torch")
    names = [item.stored for layer in layout.layers for item in layer.held]
    state = {name: tied.module.state_dict()[name.split("@")[0]].clone() for name in names}
    safetensors.save_file(state, path)
    with pytest.raises(BadInput, match="does not lie together at a whole block"):
        starts_of(path, layout)


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    with pytest.raises(BadInput, match="'b': 3 bytes, not 4"):
        write_file(path, HELD, [bytes(24), bytes(3)])
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(BadInput, match="cannot write"):
        write_file(tmp_path / "none" / "w.safetensors", HELD, [])


def test_a_module_without_values(tmp_path: Path) -> None:
    small, other = case(Small), case.__wrapped__(Small)
    other.module = torch.nn.Sequential(torch.nn.Linear(16, 16)).eval()
    other.inputs = (torch.randn(1, 16),)
    with pytest.raises(BadInput, match="no parameter named 'first.0.weight'"):
        other.write(tmp_path, small.plan())
