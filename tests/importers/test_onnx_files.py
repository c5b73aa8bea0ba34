"""ONNX files that are not what they should be: each is refused with one exact line."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import planners as sp
from planners.cli import main
from planners.importers.onnx import file as onnx_file
from tests.importers.onnx_models import INT64, external, model, node, value, write

IMAGE = [1, 3, 8, 8]
WEIGHT = (4, 3, 3, 3)


def small(**changes: Any) -> Any:
    """A convolution and a ReLU."""
    settings: dict[str, Any] = {
        "nodes": [node("Conv", "x w", "c", pads=[1] * 4), node("Relu", "c", "y")],
        "inputs": {"x": IMAGE},
        "outputs": {"y": None},
        "weights": {"w": WEIGHT},
    }
    return model(**(settings | changes))


def refused(made: Any, folder: Path, **options: Any) -> str:
    """The line that a model is refused with."""
    with pytest.raises(sp.BadInput) as caught:
        sp.from_onnx(write(made, folder), **options)
    text = str(caught.value)
    assert "\n" not in text
    assert "made.onnx" in text
    return text


def test_a_good_file(tmp_path: Path) -> None:
    graph = sp.from_onnx(write(small(), tmp_path), bytes_per_element=2)
    (conv,) = graph.operators
    assert (conv.kind, conv.macs, conv.parameters) == ("conv2d", 4 * 64 * 27, ("w",))
    assert (graph.inputs, graph.outputs, graph.bytes_per_element) == (("x",), ("y",), 2)
    assert graph.name == "made"
    assert graph.source["onnx"]["file"] == "made.onnx"
    assert graph.source["input_shape"] == [IMAGE]
    assert "opaque" not in graph.source
    assert sp.Graph.from_json(graph.to_json()) == graph


def test_load_and_the_command_line_take_the_file(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = write(small(), tmp_path)
    assert sp.load(path) == sp.load(str(path)) == sp.from_onnx(path)
    with pytest.raises(SystemExit) as stop:
        main(["budgets", str(path), "--json"])
    assert not stop.value.code
    assert json.loads(capfd.readouterr().out)["MR"] == 4 * (3 + 4) * 64
    with pytest.raises(SystemExit) as stop:
        main(["budgets", str(path), "--input", "1x3x9x9"])
    assert stop.value.code == 2
    assert "has 8 as its axis 2 in the file, not 9" in capfd.readouterr().err
    with pytest.raises(sp.Cancelled):
        sp.load(path, progress=lambda moment: False)


def test_it_is_not_executed(tmp_path: Path) -> None:
    plan = sp.plan(sp.from_onnx(write(small(), tmp_path)), budget="MR")
    assert sp.simulate(plan).peak_bytes == sp.check(plan).peak_bytes == plan.claims.peak_bytes
    with pytest.raises(sp.BadInput, match="planned, checked and simulated, not executed"):
        sp.execute(plan)


@pytest.mark.parametrize("data", [b"", b"\x00", b"no model\n" * 9, b'{"graph": 1}', b"\x08\x07"])
def test_what_is_no_onnx_file(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(data)
    with pytest.raises(sp.BadInput, match=r"m\.onnx is not an ONNX file"):
        sp.from_onnx(path)


def test_a_file_that_is_cut_short(tmp_path: Path) -> None:
    data = small().SerializeToString()
    path = tmp_path / "m.onnx"
    for size in range(0, len(data), 7):
        path.write_bytes(data[:size])
        with pytest.raises(sp.BadInput, match=r"m\.onnx"):
            sp.from_onnx(path)


def test_files_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(sp.BadInput, match="no such file"):
        sp.from_onnx(tmp_path / "m.onnx")
    with pytest.raises(sp.BadInput, match="no such file"):
        sp.from_onnx(tmp_path)
    monkeypatch.setattr(onnx_file, "LARGEST_FILE", 100)
    assert "has at most 100" in refused(small(), tmp_path)


def test_too_many_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_file, "MOST_NODES", 1)
    assert "has 2 nodes; 1 are the most" in refused(small(), tmp_path)


def test_empty_graphs(tmp_path: Path) -> None:
    assert "has an empty graph" in refused(small(nodes=[]), tmp_path)
    nothing = small(nodes=[node("Relu", "w", "y")])
    assert "its inputs reach no operator" in refused(nothing, tmp_path)
    passed_on = small(nodes=[node("Identity", "x", "y")])
    assert "its inputs reach no operator" in refused(passed_on, tmp_path)


def test_operator_sets(tmp_path: Path) -> None:
    newest = onnx.defs.onnx_opset_version()
    assert "opset 6, and 7 is the oldest" in refused(small(opset=6), tmp_path)
    newer = refused(small(opset=newest + 1), tmp_path)
    assert f"opset {newest + 1}; onnx {onnx.__version__} knows those up to {newest}" in newer
    assert sp.from_onnx(write(small(opset=7), tmp_path)).operators
    assert sp.from_onnx(write(small(opset=newest), tmp_path)).operators
    without = small()
    without.ClearField("opset_import")
    assert "does not say which version" in refused(without, tmp_path)


def test_names_that_are_given_twice(tmp_path: Path) -> None:
    twice = [node("Conv", "x w", "c"), node("Relu", "c", "c")]
    assert "gives the name 'c' to two values" in refused(small(nodes=twice), tmp_path)
    again = [node("Conv", "x w", "x")]
    assert "gives the name 'x' to two values" in refused(small(nodes=again), tmp_path)
    made = small()
    made.graph.initializer.append(made.graph.initializer[0])
    assert "gives the name 'w' to two values" in refused(made, tmp_path)
    made = small()
    made.graph.input.append(made.graph.input[0])
    assert "gives the name 'x' to two values" in refused(made, tmp_path)


def test_an_initialiser_among_the_inputs_is_a_weight(tmp_path: Path) -> None:
    graph = sp.from_onnx(write(small(inputs={"x": IMAGE, "w": WEIGHT}), tmp_path))
    assert (graph.inputs, graph.operators[0].parameters) == (("x",), ("w",))


def test_cycles_and_order(tmp_path: Path) -> None:
    loop = [node("Add", "x b", "a"), node("Relu", "a", "b"), node("Relu", "b", "y")]
    assert "node 'n_a' (Add) is in a cycle" in refused(small(nodes=loop), tmp_path)
    own = [node("Add", "x y", "y")]
    assert "is in a cycle" in refused(small(nodes=own), tmp_path)
    turned = [node("Relu", "c", "y"), node("Conv", "x w", "c", pads=[1] * 4)]
    assert sp.from_onnx(write(small(nodes=turned), tmp_path)).operators[0].macs == 4 * 64 * 27


def test_values_that_nothing_writes(tmp_path: Path) -> None:
    lost = [node("Conv", "x v", "y")]
    assert "node 'n_y' (Conv) reads 'v', which nothing writes" in refused(
        small(nodes=lost), tmp_path
    )
    assert "nothing writes the output 'z'" in refused(small(outputs={"z": None}), tmp_path)


def test_shapes_that_are_missing(tmp_path: Path) -> None:
    assert "the input 'x' has no shape; give one" in refused(small(inputs={"x": None}), tmp_path)
    path = write(small(inputs={"x": None}), tmp_path)
    assert sp.from_onnx(path, IMAGE).tensors["x"].shape == tuple(IMAGE)
    unknown = [node("Foo", "x", "y", domain="my.own")]
    assert "node 'n_y' (Foo) is no standard operator" in refused(small(nodes=unknown), tmp_path)
    counted = [node("NonZero", "x", "y")]
    assert "'y' is not known: node 'n_y' (NonZero) computes it from data" in refused(
        small(nodes=counted), tmp_path
    )


def test_open_sizes(tmp_path: Path) -> None:
    made = small(inputs={"x": ["batch", 3, None, 8]})
    assert "the input 'x' leaves 'batch' (axis 0) open: give input_shape" in refused(made, tmp_path)
    half = small(inputs={"x": [2, 3, None, 8]})
    assert "leaves axis 2 open" in refused(half, tmp_path)
    path = write(made, tmp_path)
    graph = sp.from_onnx(path, (2, 3, 6, 8))
    assert graph == sp.from_onnx(path, [[2, 3, 6, 8]])
    assert graph.tensors["y"].shape == (2, 4, 6, 8)
    assert "has 3 as its axis 1 in the file, not 4" in refused(
        made, tmp_path, input_shape=(2, 4, 6, 8)
    )
    assert "has 4 axes, and 2x3x6 has 3" in refused(made, tmp_path, input_shape=(2, 3, 6))
    for bad in ((), "1x3", (1, 3, 8, -1), (1, 3, 8, True), (1, 3, 8, 2.0), [[1], [2]]):
        assert "takes 1 input shapes" in refused(made, tmp_path, input_shape=bad)


def test_sizes_by_the_names_of_axes(tmp_path: Path) -> None:
    made = small(inputs={"x": ["batch", 3, "side", "side"]})
    graph = sp.load(write(made, tmp_path), input_shape={"batch": 2, "side": 8})
    assert graph.tensors["x"].shape == (2, 3, 8, 8)
    for given, says in (
        ({"batch": 2}, "leaves 'side' (axis 2) open: give input_shape (--input), or sizes by name"),
        ({}, "or sizes by name: batch=1, side=1"),
        ({"bach": 2}, "no axis of its inputs is 'bach'; it has 'batch', 'side'"),
        ({"batch": 2.0, "side": 8}, "'batch' is a whole number, not 2.0"),
        ({"batch": 2, "side": -8}, "'side' is a whole number, not -8"),
    ):
        assert says in refused(made, tmp_path, input_shape=given)
    closed = small(inputs={"x": [2, 3, 8, 8]})
    assert "it has no names" in refused(closed, tmp_path, input_shape={"batch": 2})
    with pytest.raises(sp.BadInput, match="its axes have no names"):
        sp.load("resnet18", input_shape={"batch": 2})


def test_what_has_no_elements_is_not_there(tmp_path: Path) -> None:
    """A cache before anything was said: what reads it reads nothing, what is made of it is not."""
    nodes = [node("Concat", "past x", "all", axis=1), node("Identity", "past", "p")]
    nodes += [node("Relu", "all", "y"), node("Transpose", "p", "turned", perm=[1, 0])]
    made = model(nodes, {"past": [2, "past"], "x": [2, 3]}, {"y": None, "turned": None})
    path = write(made, tmp_path)
    later = sp.load(path, input_shape={"past": 4})
    assert (later.inputs, later.tensors["y"].shape) == (("past", "x"), (2, 7))
    first = sp.load(path, input_shape={"past": 0})
    assert (first.inputs, first.outputs) == (("x",), ("y",))
    assert first.tensors["y"].shape == (2, 3)
    assert first.source["input_shape"] == [[2, 0], [2, 3]]
    assert sp.plan(first).planner == "cosma"


@pytest.mark.parametrize("open_axis", ["?", "", "None", "-1", "*", "unknown"])
def test_axes_that_are_open_are_no_symbol(open_axis: str, tmp_path: Path) -> None:
    made = small(inputs={"x": [1, 3, open_axis, open_axis]})
    graph = sp.from_onnx(write(made, tmp_path), (1, 3, 48, 192))
    assert graph.tensors["x"].shape == (1, 3, 48, 192)
    assert "leaves axis 2 open" in refused(made, tmp_path)


def test_one_name_is_one_size(tmp_path: Path) -> None:
    inputs = {"x": ["n", 4], "z": ["n", 4]}
    made = model([node("Add", "x z", "y")], inputs, {"y": None})
    path = write(made, tmp_path)
    assert sp.from_onnx(path, [[3, 4]]).tensors["z"].shape == (3, 4)
    assert "'n' is 3 elsewhere, not 5" in refused(made, tmp_path, input_shape=[[3, 4], [5, 4]])


@pytest.mark.parametrize(
    "sizes", [[1, 3, 2**31, 2**31], [2**62, 2**62, 2**62, 1], [1, 3, 2**14, 2**14]]
)
def test_huge_inputs(sizes: list[int], tmp_path: Path) -> None:
    assert "the input 'x' has more than" in refused(small(inputs={"x": sizes}), tmp_path)


def test_huge_values_and_weights(tmp_path: Path) -> None:
    blown_up = [node("Expand", "x s", "e"), node("Relu", "e", "y")]
    made = small(nodes=blown_up, weights={"s": np.array([2**50, 3, 8, 8])})
    assert "'e' has more than 2**53 elements" in refused(made, tmp_path)
    made = small()
    made.graph.initializer[0].dims[:] = [2**62, 2**62]
    assert "'w' has more than 2**53 elements" in refused(made, tmp_path)
    made.graph.initializer[0].dims[:] = [4, -3, 3, 3]
    assert "'w' has an axis of negative size" in refused(made, tmp_path)


def test_numbers_that_do_not_fit_their_shape(tmp_path: Path) -> None:
    made = small(
        nodes=[node("Reshape", "x s", "y")], weights={"s": np.array([3, 64], dtype=np.int64)}
    )
    made.graph.initializer[0].dims[:] = [3]
    assert "'s' does not hold what it says" in refused(made, tmp_path)


@pytest.mark.parametrize(
    "location",
    ["/etc/passwd", "../weights", "a/../../b", "C:\\weights", "..\\weights", "\\\\host\\a", ""],
)
def test_weights_outside_of_the_folder(location: str, tmp_path: Path) -> None:
    text = refused(external(small(), "w", location=location), tmp_path)
    assert "not inside the model's folder" in text
    held = helper.make_node("Constant", [], ["w"], value=numpy_helper.from_array(np.zeros(WEIGHT)))
    tensor = held.attribute[0].t
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    made = small(weights={})
    made.graph.node.insert(0, held)
    assert "not inside the model's folder" in refused(made, tmp_path)


def test_weights_in_a_file_of_their_own_stay_unread(tmp_path: Path) -> None:
    path = write(external(small(), "w", location="is/not/there"), tmp_path)
    assert sp.from_onnx(path).parameter_count == 4 * 27


def sized_elsewhere(**where: str) -> Any:
    nodes = [node("Reshape", "x s", "y")]
    made = small(nodes=nodes, weights={"s": np.array([3, 64], dtype=np.int64)})
    return external(made, "s", **where)


def test_sizes_in_a_file_of_their_own_are_read(tmp_path: Path) -> None:
    data = np.array([9, 3, 64], dtype="<i8").tobytes()
    (tmp_path / "sizes").write_bytes(data)
    made = sized_elsewhere(location="sizes", offset="8")
    graph = sp.from_onnx(write(made, tmp_path), granularity="aten")
    assert graph.tensors["y"].shape == (3, 64)
    for offset in ("16", "-1", "many", str(2**70)):
        made = sized_elsewhere(location="sizes", offset=offset)
        assert "the data of 's'" in refused(made, tmp_path)


@pytest.mark.parametrize(
    ("dtype", "columns"), [("int8", 4), ("uint8", 4), ("int16", 4), ("uint16", 4), ("int32", 32)]
)
def test_quantised_weights_may_be_left_behind(dtype: str, columns: int, tmp_path: Path) -> None:
    """A page is given the file alone; these are no sizes."""
    kind = np.dtype(dtype)
    weights = {"w": np.zeros((8, columns), kind), "z": kind.type(0), "s": np.float32(0.5)}
    nodes = [node("DequantizeLinear", "w s z", "v"), node("MatMul", "x v", "y")]
    made = small(nodes=nodes, weights=weights, opset=21)
    whole = sp.from_onnx(write(made, tmp_path))
    alone = sp.from_onnx(write(external(made, "w", location="gone"), tmp_path))
    assert alone.operators == whole.operators
    assert alone.tensors["w"].shape == whole.tensors["w"].shape


def test_a_link_does_not_lead_out_of_the_folder(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "secret").write_bytes(bytes(16))
    (inside / "sizes").symlink_to(tmp_path / "secret")
    assert "is not in the model's folder" in refused(sized_elsewhere(location="sizes"), inside)
    assert "is not in the model's folder" in refused(sized_elsewhere(location="gone"), inside)


def test_a_file_that_is_not_there_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(sp.BadInput, match="there is no such file"):
        sp.from_onnx(tmp_path / "gone.onnx")


def test_control_flow(tmp_path: Path) -> None:
    branch = helper.make_graph([node("Relu", "x", "r")], "branch", [], [value("r", IMAGE)])
    nodes = [
        node("ReduceMax", "x", "m", keepdims=0),
        node("Cast", "m", "t", to=onnx.TensorProto.INT64),
        node("Loop", "t", "y", body=branch),
    ]
    text = refused(small(nodes=nodes), tmp_path)
    assert "node 'n_y' (Loop) is control flow whose rounds depend on data" in text
    text = refused(small(nodes=nodes[2:], weights={"t": np.array(3)}), tmp_path)
    assert "node 'n_y' (Loop) does not fit its body: other values" in text


def test_functions_of_its_own(tmp_path: Path) -> None:
    made = small(nodes=[node("Twice", "x", "y", domain="my.own")])
    body = helper.make_function(
        "my.own",
        "Twice",
        ["a"],
        ["b"],
        [helper.make_node("Add", ["a", "a"], ["b"])],
        [helper.make_opsetid("", 20)],
    )
    made.functions.append(body)
    made.opset_import.append(helper.make_opsetid("my.own", 1))
    assert "brings 1 functions of its own" in refused(made, tmp_path)


def test_values_that_are_no_numbers(tmp_path: Path) -> None:
    made = small()
    made.graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.STRING
    assert "'x' holds no numbers" in refused(made, tmp_path)
    made.graph.input[0].type.tensor_type.elem_type = 77
    assert "'x' holds no numbers" in refused(made, tmp_path)
    made = small()
    made.graph.input[0].type.CopyFrom(
        helper.make_sequence_type_proto(helper.make_tensor_type_proto(INT64, [1]))
    )
    assert "the input 'x' is not a tensor" in refused(made, tmp_path)


def test_operands_that_do_not_do(tmp_path: Path) -> None:
    text = refused(small(weights={"w": (4, 5, 3, 3)}), tmp_path)
    assert text.startswith(f"{tmp_path / 'made.onnx'}: node 'n_c' (Conv) is malformed")
    assert "(4, 5, 3, 3) for (1, 3, 8, 8)" in text
    wrong = [node("Conv", "x w", "c", strides="aha"), node("Relu", "c", "y")]
    assert "node 'n_c' (Conv) does not do" in refused(small(nodes=wrong), tmp_path)
    few = [node("Conv", "x", "c"), node("Relu", "c", "y")]
    assert "node 'n_c' (Conv) does not do" in refused(small(nodes=few), tmp_path)
    zero = [
        node("Div", "s z", "t"),
        node("Reshape", "x t", "y"),
    ]
    weights = {"s": np.array([3, 64]), "z": np.array([0, 1])}
    made = small(nodes=zero, weights=weights)
    assert "node 'n_t' (Div) cannot be computed: it divides by zero" in refused(made, tmp_path)


def test_names_with_anything_in_them(tmp_path: Path) -> None:
    made = small(nodes=[node("Conv", "x v\nv", "y")])
    made.graph.node[0].input[1] = "v\n\x1b[31m"
    assert "reads 'v\\n\\x1b[31m'" in refused(made, tmp_path)


def test_spoilt_files_are_refused_or_read(tmp_path: Path) -> None:
    nodes = [
        node("Conv", "x w", "c", pads=[1] * 4),
        node("Shape", "c", "s", start=2),
        node("Concat", "one s", "t", axis=0),
        node("Reshape", "c t", "r"),
        node("Split", "r", "a b", axis=1, num_outputs=2),
        node("MatMul", "a b", "y"),
    ]
    weights = {"w": WEIGHT, "one": np.array([1, 4])}
    data = small(nodes=nodes, weights=weights).SerializeToString()
    rng, path = random.Random(0), tmp_path / "m.onnx"
    read, lines = 0, []
    for _ in range(400):
        spoilt = bytearray(data)
        for _ in range(rng.choice([1, 1, 2, 4])):
            spoilt[rng.randrange(len(spoilt))] ^= 1 << rng.randrange(8)
        path.write_bytes(spoilt)
        try:
            sp.from_onnx(path)
            read += 1
        except sp.BadInput as error:
            lines.append(str(error))
    assert not any("\n" in line for line in lines)
    assert 20 < read < 380
