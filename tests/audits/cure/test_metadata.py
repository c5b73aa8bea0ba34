"""A file with a plan differs from what it was in metadata alone."""

from __future__ import annotations

import random
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tflite

from planners.audits.cure.metadata import KEPT_ALIGNMENT, with_metadata
from planners.audits.cure.tflm import ASSUMPTION, planned, written
from planners.audits.readers.tflm import METADATA, offline_offsets
from planners.core.errors import BadInput
from planners.importers.tflite.file import read_tflite
from tests.audits.cure.networks import NETWORKS, Int8Net


def content(data: bytes) -> dict[str, Any]:
    """All that a model's tables say, by the generated reader; bytes of buffers by their number."""
    model = tflite.Model.GetRootAs(data, 0)
    buffers = [
        model.Buffers(k).DataAsNumpy().tobytes() if model.Buffers(k).DataLength() else b""
        for k in range(model.BuffersLength())
    ]
    entries = [model.Metadata(k) for k in range(model.MetadataLength())]
    return {
        "version": model.Version(),
        "description": model.Description(),
        "codes": [_code(model.OperatorCodes(k)) for k in range(model.OperatorCodesLength())],
        "graphs": [_graph(model.Subgraphs(k)) for k in range(model.SubgraphsLength())],
        "buffers": buffers,
        "metadata": {e.Name(): buffers[e.Buffer()] for e in entries},
    }


def _code(code: Any) -> tuple[Any, ...]:
    return code.BuiltinCode(), code.DeprecatedBuiltinCode(), code.CustomCode(), code.Version()


def _graph(graph: Any) -> tuple[Any, ...]:
    tensors = [_tensor(graph.Tensors(k)) for k in range(graph.TensorsLength())]
    operators = [_operator(graph.Operators(k)) for k in range(graph.OperatorsLength())]
    ends = graph.InputsAsNumpy().tolist(), graph.OutputsAsNumpy().tolist()
    return graph.Name(), tensors, operators, ends


def _tensor(tensor: Any) -> tuple[Any, ...]:
    shape = [tensor.Shape(k) for k in range(tensor.ShapeLength())]
    given = tensor.Quantization()
    quantised = given and (
        [given.Scale(k) for k in range(given.ScaleLength())],
        [given.ZeroPoint(k) for k in range(given.ZeroPointLength())],
        given.QuantizedDimension(),
    )
    return shape, tensor.Type(), tensor.Name(), tensor.Buffer(), tensor.IsVariable(), quantised


def _operator(operator: Any) -> tuple[Any, ...]:
    ends = operator.InputsAsNumpy().tolist(), operator.OutputsAsNumpy().tolist()
    table = operator.BuiltinOptions()
    said = None
    if table is not None:  # The options' table as it lies there, its fields by their places.
        start = table.Pos - struct.unpack_from("<i", table.Bytes, table.Pos)[0]
        tags, size = struct.unpack_from("<HH", table.Bytes, start)
        said = bytes(table.Bytes[start : start + tags]), bytes(table.Bytes[table.Pos :][:size])
    return operator.OpcodeIndex(), ends, operator.BuiltinOptionsType(), said


@pytest.mark.parametrize("overlap", [False, True])
@pytest.mark.parametrize("name", NETWORKS)
def test_only_metadata_differ(name: str, overlap: bool, tmp_path: Path) -> None:
    writer = NETWORKS[name]()
    writer.metadata = {"min_runtime_version": b"1.5.0\0", "author": b"me"}
    before = writer.save(tmp_path / "net.tflite")
    file, plan = planned(before, overlap=overlap)
    written(file, plan, tmp_path / "planned.tflite")
    data = (tmp_path / "planned.tflite").read_bytes()
    old, new = content(file.data), content(data)
    count = len(old["buffers"])
    added = new["buffers"][count:]
    assert new["buffers"][:count] == old["buffers"]
    assert {k: v for k, v in new.items() if k not in ("buffers", "metadata")} == {
        k: v for k, v in old.items() if k not in ("buffers", "metadata")
    }
    assert new["metadata"].items() >= old["metadata"].items()
    names = {METADATA.encode(), ASSUMPTION.encode()} if plan.overlapped else {METADATA.encode()}
    assert new["metadata"].keys() - old["metadata"].keys() == names
    assert added == [new["metadata"][name] for name in sorted(names)]
    # Not a byte of what was there has moved by less than what may be aligned.
    assert data.endswith(file.data)
    assert (len(data) - len(file.data)) % KEPT_ALIGNMENT == 0
    numbers = np.frombuffer(added[0], "<i4")
    tensors = file.subgraphs[0].tensors
    assert numbers[:3].tolist() == [1, 1, len(tensors)]
    placed = {t.id: plan.offsets[t.id] for t in plan.tensors}
    assert numbers[3:].tolist() == [placed.get(str(t.number), -1) for t in tensors]
    again = read_tflite(tmp_path / "planned.tflite")
    assert {k: v for k, v in offline_offsets(again).items() if v >= 0} == placed
    assert again.subgraphs[0].operators[0].kind == file.subgraphs[0].operators[0].kind


def test_new_buffers_are_aligned(tmp_path: Path) -> None:
    file = read_tflite(NETWORKS["branches"]().save(tmp_path / "net.tflite"))
    for length in range(1, 40):
        data = with_metadata(file, {"a" * length: b"x" * length, "b": b"yy"})
        (tmp_path / "more.tflite").write_bytes(data)
        for start, _ in read_tflite(tmp_path / "more.tflite").metadata.values():
            assert start % 16 == 0


def test_a_plan_takes_the_place_of_one_before(tmp_path: Path) -> None:
    path = NETWORKS["mobilenet"]().save(tmp_path / "net.tflite")
    for name, overlap in (("one", True), ("two", False)):
        file, plan = planned(path, overlap=overlap)
        path = tmp_path / f"{name}.tflite"
        written(file, plan, path)
    last = read_tflite(path)
    assert list(last.metadata) == [METADATA]
    kept = {k: v for k, v in offline_offsets(last).items() if v >= 0}
    assert kept == {t.id: plan.offsets[t.id] for t in plan.tensors}
    # The second plan is the same whatever the first one was.
    assert plan.offsets == planned(tmp_path / "net.tflite")[1].offsets


def test_what_is_assumed_is_written(tmp_path: Path) -> None:
    file, plan = planned(NETWORKS["mobilenet"]().save(tmp_path / "net.tflite"), overlap=True)
    written(file, plan, tmp_path / "planned.tflite")
    again = read_tflite(tmp_path / "planned.tflite")
    start, stop = again.metadata[ASSUMPTION]
    words = again.data[start:stop].decode()
    assert words.startswith("for the reference kernels of TensorFlow Lite Micro only: ")
    assert all(kind in words for kind in plan.overlapped)


def test_several_subgraphs_are_refused(tmp_path: Path) -> None:
    writer = NETWORKS["mobilenet"]()
    writer.times = 2
    path = writer.save(tmp_path / "two.tflite")
    with pytest.raises(BadInput, match="2 subgraphs"):
        planned(path)


def test_broken_files_never_do_more_than_say_so(tmp_path: Path) -> None:
    net = Int8Net((1, 6, 6, 2))
    x = net.conv(net.image, 4, 3)
    writer = net.done(net.softmax(net.dense(net.flat(x), 3)))
    writer.metadata = {"author": b"me"}
    data = writer.to_bytes()
    rng = random.Random(3)
    path, planned_ones, said = tmp_path / "broken.tflite", 0, set[str]()
    for _ in range(400):
        broken = bytearray(data)
        for _ in range(rng.randint(1, 4)):
            broken[rng.randrange(len(broken))] = rng.randrange(256)
        path.write_bytes(broken[: rng.choice([len(broken), rng.randrange(len(broken))])])
        try:
            file, plan = planned(path, overlap=True, time_limit_s=0.5)
            written(file, plan, tmp_path / "out.tflite")
            assert offline_offsets(read_tflite(tmp_path / "out.tflite")).keys() >= {
                t.id for t in plan.tensors
            }
            planned_ones += 1
        except BadInput as error:
            said.add(str(error))
    assert 20 < planned_ones < 380
    assert not [words for words in said if "\n" in words]
