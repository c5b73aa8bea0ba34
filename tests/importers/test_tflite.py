"""TensorFlow Lite files as graphs: shapes, windows, MACs, state; and what is no such file."""

from __future__ import annotations

import random
from math import prod
from pathlib import Path

import numpy as np
import pytest

import planners as sp
from planners.importers.tflite.file import read_tflite
from tests.importers.tflite_models import TfliteWriter
from tests.importers.tflite_open import open_network, resized_network
from tests.importers.tflite_types import typed_files

SAME, VALID, RELU, RELU6 = 0, 1, 1, 3


def small_net(dtype: str = "float32") -> TfliteWriter:
    """A convolution, a depthwise one, a branch, a pool, and a dense layer."""
    w = TfliteWriter()
    x = w.tensor((1, 9, 11, 3), dtype, name="image", scale=0.5)
    w.inputs = [x]
    conv = w.operator(
        "CONV_2D",
        [x, w.weight((8, 3, 3, 3), dtype), w.weight((8,))],
        [w.tensor((1, 5, 6, 8), dtype, name="net/conv/Relu6")],
        "Conv2DOptions",
        Padding=SAME,
        StrideH=2,
        StrideW=2,
        FusedActivationFunction=RELU6,
    )
    deep = w.operator(
        "DEPTHWISE_CONV_2D",
        [conv, w.weight((1, 3, 3, 8), dtype)],
        [w.tensor((1, 5, 6, 8), dtype, name="net/deep")],
        "DepthwiseConv2DOptions",
        Padding=SAME,
        StrideH=1,
        StrideW=1,
        DepthMultiplier=1,
    )
    both = w.operator(
        "CONCATENATION",
        [conv, deep],
        [w.tensor((1, 5, 6, 16), dtype, name="net/both")],
        "ConcatenationOptions",
        Axis=3,
    )
    total = w.operator("ADD", [both, w.weight((16,), dtype)], [w.tensor((1, 5, 6, 16), dtype)])
    mean = w.operator(
        "MEAN",
        [total, w.numbers([1, 2])],
        [w.tensor((1, 16), dtype)],
        "ReducerOptions",
        KeepDims=False,
    )
    dense = w.operator(
        "FULLY_CONNECTED",
        [mean, w.weight((10, 16), dtype)],
        [w.tensor((1, 10), dtype)],
        "FullyConnectedOptions",
        FusedActivationFunction=RELU,
    )
    w.outputs = [w.operator("SOFTMAX", [dense], [w.tensor((1, 10), dtype, name="classes")])]
    return w


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_a_small_network(dtype: str, tmp_path: Path) -> None:
    graph = sp.load(small_net(dtype).save(tmp_path / "net.tflite"))
    ops = list(graph.operators)
    assert [op.kind for op in ops] == "conv2d conv2d cat add mean linear softmax".split()
    conv, deep = ops[0], ops[1]
    assert graph.tensors["image"].shape == (1, 3, 9, 11)
    assert (conv.kernel, conv.stride, conv.padding) == ((3, 3), (2, 2), (1, 1))
    assert graph.tensors[conv.outputs[0]].shape == (1, 8, 5, 6)
    assert [part.kind for part in conv.parts] == ["conv2d", "hardtanh"]
    assert (conv.name, conv.outputs) == ("net/conv/Relu6.conv2d", ("net/conv/Relu6",))
    assert conv.macs == 8 * 5 * 6 * 27
    assert deep.groups == 8
    assert deep.macs == 8 * 5 * 6 * 9
    assert sum(op.macs for op in ops) == conv.macs + deep.macs + 160
    assert graph.bytes_per_element == "native"
    assert {t.dtype for t in graph.tensors.values() if t.kind == "activation"} == {dtype}
    assert [graph.tensors[name].shape for name in ops[3].parameters] == [(1, 16, 1, 1)]
    for planner in ("cosma", "fusion", "overlap", "streaming"):
        plan = sp.plan(graph, planner, "8KiB", time_limit=600)
        assert sp.check(plan).extent_bytes <= plan.budget_bytes


def test_variables_are_state(tmp_path: Path) -> None:
    """A variable tensor of a layer: it is read, and written for the next run."""
    w = TfliteWriter()
    x = w.tensor((1, 4), name="x")
    state = w.tensor((1, 12), name="kept", variable=True)
    features, time = w.weight((6, 4)), w.weight((6, 2))
    w.inputs = [x]
    w.outputs = [w.operator("SVDF", [x, features, time, -1, state], [w.tensor((1, 6), name="y")])]
    graph = sp.load(w.save(tmp_path / "svdf.tflite"))
    assert graph.state == {"kept": "kept'"}
    assert graph.tensors["kept"].kind == "state"
    assert set(graph.outputs) == {"y", "kept'"}
    assert sum(op.macs for op in graph.operators) == 6 * 4 + 6 * 2


def test_weights_behind_dequantize_are_what_they_are_stored_as(tmp_path: Path) -> None:
    w = TfliteWriter()
    x = w.tensor((1, 8), name="x")
    w.inputs = [x]
    stored = w.tensor((4, 8), "float16", np.ones((4, 8), np.float16), name="half")
    weight = w.operator("DEQUANTIZE", [stored], [w.tensor((4, 8), name="whole")])
    w.outputs = [w.operator("FULLY_CONNECTED", [x, weight], [w.tensor((1, 4), name="y")])]
    graph = sp.load(w.save(tmp_path / "half.tflite"))
    (dense,) = graph.operators
    assert dense.parameters == ("half",)
    assert graph.size_bytes("half") == 4 * 8 * 2
    assert dense.macs == 32


def test_what_is_not_known_needs_everything(tmp_path: Path) -> None:
    w = TfliteWriter()
    x = w.tensor((1, 4, 4, 2), name="x")
    w.inputs = [x]
    y = w.operator("MyOwn", [x, w.weight((3,))], [w.tensor((1, 4, 4, 2), name="y")])
    w.outputs = [w.operator("RELU", [y], [w.tensor((1, 4, 4, 2), name="z")])]
    graph = sp.load(w.save(tmp_path / "own.tflite"))
    assert graph.operators[0].kind == "custom.MyOwn"
    assert graph.source["opaque"] == [graph.operators[0].name]


def for_ethos_u(kind: str = "ethos-u", one: bool = True) -> TfliteWriter:
    """What Vela writes: commands, weights, two kinds of scratch (or one twice), a map; a ReLU."""
    w = TfliteWriter()
    commands, weights = (w.tensor((n,), "uint8", np.ones(n, np.uint8)) for n in (32, 48))
    scratch = w.tensor((700,), "uint8", name="scratch")
    fast = scratch if one else w.tensor((90,), "uint8", name="scratch_fast")
    x, y = (w.tensor((1, 4, 4, 8), "int8", name=name) for name in "xy")
    w.inputs = [x]
    w.operator(kind, [commands, weights, scratch, fast, x], [y], custom=b"\1\4\1")
    w.outputs = [w.operator("RELU", [y], [w.tensor((1, 4, 4, 8), "int8", name="z")])]
    return w


@pytest.mark.parametrize("one", [True, False])
def test_memory_that_a_custom_operator_works_in_is_there_from_the_beginning(
    one: bool, tmp_path: Path
) -> None:
    path = for_ethos_u(one=one).save(tmp_path / "net_vela.tflite")
    graph = sp.load(path)
    names = ("scratch",) if one else ("scratch", "scratch_fast")
    assert graph.inputs == ("x", *names)
    assert graph.source["input_shape"] == [[1, 8, 4, 4]]
    first = graph.operators[0]
    assert {*first.inputs} == {"x", *names}
    needs = sum(map(graph.size_bytes, (*first.inputs, *first.outputs)))
    assert needs == 700 + (0 if one else 90) + 2 * 128
    assert "scratch (700 elements)" in graph.source["note"]
    assert sp.load(path, input_shape=(1, 4, 4, 8)) == graph
    sp.check(sp.plan(graph, "cosma", "MR"))


@pytest.mark.parametrize(("size", "left"), [(700, 700 - 256), (256, 0), (200, 72)])
def test_maps_that_lie_in_scratch_are_counted_once(size: int, left: int, tmp_path: Path) -> None:
    """x at 0 and y behind it, each of 128 bytes: what a file's plan says of them."""
    w = for_ethos_u()
    w.tensors[2]["shape"] = (size,)
    offsets = [-1, -1, 0, 0, 128, -1]  # y is not in it where scratch ends before
    w.metadata["OfflineMemoryAllocation"] = np.array([1, 0, 6, *offsets], np.int32).tobytes()
    graph = sp.load(w.save(tmp_path / "net_vela.tflite"))
    first = graph.operators[0]
    assert first.inputs == (("scratch", "x") if left else ("x",))
    needs = sum(map(graph.size_bytes, (*first.inputs, *first.outputs)))
    assert needs == left + 256


def test_no_map_lies_in_fast_memory(tmp_path: Path) -> None:
    """Its addresses begin anew: what a file's plan lays at the same numbers lies in the arena."""
    w = for_ethos_u(one=False)
    offsets = [-1, -1, 0, 0, 0, 128, -1]
    w.metadata["OfflineMemoryAllocation"] = np.array([1, 0, 7, *offsets], np.int32).tobytes()
    graph = sp.load(w.save(tmp_path / "net_vela.tflite"))
    first = graph.operators[0]
    assert sum(map(graph.size_bytes, first.inputs)) == 700 - 256 + 90 + 128


def test_a_join_that_is_written_in_parts_is_one_value_after_the_other(tmp_path: Path) -> None:
    """As Vela writes it where what makes its parts are two operators: both give the same tensor."""
    w = for_ethos_u()
    commands, weights, scratch, y = 0, 1, 2, 4
    w.operator("ethos-u", [commands, weights, scratch, scratch, 3], [y], custom=b"\1\4\1")
    w.outputs = [w.operator("ABS", [y], [w.tensor((1, 4, 4, 8), "int8", name="end")]), *w.outputs]
    graph = sp.load(w.save(tmp_path / "parts_vela.tflite"), granularity="aten")
    first, _, second, last = graph.operators
    assert first.outputs[0] in second.inputs
    assert last.inputs == second.outputs != first.outputs
    assert graph.size_bytes(second.outputs[0]) == graph.size_bytes(first.outputs[0]) == 128
    sp.check(sp.plan(graph, "cosma", "MR"))
    own = for_ethos_u("MyOwn")
    own.operators.append(("ABS", [3], [4], "", {}))
    own.inputs += [2]
    with pytest.raises(sp.BadInput, match="tensor 'y' is made twice"):
        sp.load(own.save(tmp_path / "own.tflite"))


def test_nothing_else_may_read_what_nothing_makes(tmp_path: Path) -> None:
    """Not another operator, nor what that one reads at another place, nor what is made later."""
    changed = [for_ethos_u("MyOwn"), for_ethos_u(), for_ethos_u(), for_ethos_u()]
    changed[1].inputs = [0]  # x is no input now
    changed[2].operators.insert(0, ("ABS", [2], [changed[2].tensor((700,), "uint8")], "", {}))
    changed[3].operators.append(("ABS", [0], [2], "", {}))
    for w, name in zip(changed, ("scratch", "x", "scratch", "scratch"), strict=True):
        with pytest.raises(sp.BadInput, match=f"reads tensor '{name}', which nothing before it"):
            sp.load(w.save(tmp_path / "broken.tflite"))
    returned = for_ethos_u()
    returned.outputs = [2]
    with pytest.raises(sp.BadInput, match="reads tensor 'scratch', which nothing before it"):
        sp.load(returned.save(tmp_path / "broken.tflite"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda data: data[:30], "is not a TensorFlow Lite file, or is cut short"),
        (lambda data: b"\0" * 64, "is not a TensorFlow Lite file"),
        (lambda data: b"", "is not a TensorFlow Lite file"),
    ],
)
def test_what_is_no_such_file(change: object, words: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.tflite"
    path.write_bytes(change(small_net().to_bytes()))  # type: ignore[operator]
    with pytest.raises(sp.BadInput, match=words):
        sp.load(path)


def test_other_shapes_and_control_flow_are_refused(tmp_path: Path) -> None:
    path = small_net().save(tmp_path / "net.tflite")
    assert sp.load(path, input_shape=(1, 9, 11, 3)).operators
    with pytest.raises(sp.BadInput, match="has its own input shapes"):
        sp.load(path, input_shape=(1, 3, 32, 32))
    w = TfliteWriter()
    x = w.tensor((1, 4), name="x")
    w.inputs, w.outputs = [x], [w.operator("WHILE", [x], [w.tensor((1, 4), name="y")])]
    with pytest.raises(sp.BadInput, match=r"operator 0 \(WHILE\) is control flow"):
        sp.load(w.save(tmp_path / "while.tflite"))


def test_options_that_lie_outside_the_file(tmp_path: Path) -> None:
    """An option that leads astray is the file's error, wherever it is read."""
    operator = read_tflite(small_net().save(tmp_path / "net.tflite")).subgraphs[0].operators[0]
    assert operator.get("StrideH") == 2
    table = operator.options._tab
    table.Bytes = table.Bytes[: table.Pos + 4]
    with pytest.raises(sp.BadInput, match=r"net.tflite: operator 0 \(CONV_2D\) has options that"):
        operator.get("StrideH")


def test_broken_bytes_never_do_more_than_say_so(tmp_path: Path) -> None:
    data, rng = small_net().to_bytes(), random.Random(0)
    path = tmp_path / "broken.tflite"
    said = []
    for _ in range(300):
        broken = bytearray(data)
        for _ in range(rng.randint(1, 6)):
            broken[rng.randrange(len(broken))] = rng.choice([0, 1, 127, 255, rng.randrange(256)])
        path.write_bytes(broken)
        try:
            read_tflite(path)
            sp.load(path)
        except sp.BadInput as error:
            said.append(str(error))
    assert len(said) > 30
    assert all(text.startswith(str(path)) and "\n" not in text for text in said)


def dilated_net(signed: bool = True) -> TfliteWriter:
    """A dilated convolution as the converter writes it of a model whose batch is open.

    A quantiser's tensors are not `signed`: they have no signature.
    """
    w = TfliteWriter()

    def tensor(*shape: int, name: str) -> int:
        more = {"signature": (-1, *shape[1:])} if signed or name in "xy" else {}
        return w.tensor(shape, name=name, **more)

    block, zeros = w.numbers((2, 2)), w.tensor((2, 2), "int32", np.zeros((2, 2), np.int32))
    x = tensor(1, 8, 6, 2, name="x")
    cut = w.operator("SPACE_TO_BATCH_ND", [x, block, zeros], [tensor(1, 4, 3, 2, name="cut")])
    conv = w.operator(
        "CONV_2D",
        [cut, w.weight((5, 3, 3, 2))],
        [tensor(1, 2, 1, 5, name="conv")],
        "Conv2DOptions",
        Padding=VALID,
        StrideH=1,
        StrideW=1,
    )
    act = w.operator("LOGISTIC", [conv], [tensor(1, 2, 1, 5, name="act")])
    ends = [act, block, zeros]
    w.inputs, w.outputs = (
        [x],
        [w.operator("BATCH_TO_SPACE_ND", ends, [tensor(1, 4, 2, 5, name="y")])],
    )
    return w


@pytest.mark.parametrize("signed", [True, False])
def test_an_open_batch_is_cut_into_more_images(tmp_path: Path, signed: bool) -> None:
    """The file says one image for each tensor; LiteRT runs four where the map is cut in four."""
    path = dilated_net(signed).save(tmp_path / "dilated.tflite")
    graph = sp.load(path, granularity="aten")
    images = {name: t.shape[0] for name, t in graph.tensors.items() if t.kind != "parameter"}
    assert images == {"x": 1, "cut": 4, "conv": 4, "act": 4, "y": 1}
    assert graph.macs == 4 * 2 * 1 * 5 * 3 * 3 * 2
    assert graph.size_bytes("cut") == graph.size_bytes("x")
    plan = sp.plan(sp.load(path), budget="MP")
    sp.check(plan)
    if signed:
        assert sp.execute(plan, path).max_abs_error == 0


def test_sizes_that_are_computed_when_it_runs_are_refused(tmp_path: Path) -> None:
    """In the file they are one, whatever they come to be."""
    w = TfliteWriter()
    x = w.tensor((2, 6), "bool", name="x")
    found = w.tensor((1, 2), "int64", name="places", signature=(-1, 2))
    w.inputs, w.outputs = [x], [w.operator("WHERE", [x], [found])]
    with pytest.raises(sp.BadInput, match=r"operator 0 \(WHERE\) computes the size of 'places'"):
        sp.load(w.save(tmp_path / "where.tflite"))
    w = TfliteWriter()
    x = w.tensor((1, 3), name="x", signature=(-1, 3))
    amounts = w.operator("CAST", [x], [w.tensor((1, 3), "int32", name="s")], "CastOptions")
    padded = w.tensor((1, 1), name="padded", signature=(-1, -1))
    w.inputs, w.outputs = [x], [w.operator("PAD", [x, amounts], [padded])]
    with pytest.raises(sp.BadInput, match=r"operator 1 \(PAD\) computes the size of 'padded'"):
        sp.load(w.save(tmp_path / "pad.tflite"))


def test_a_batch_that_was_set_by_hand_is_that_of_all_that_follows(tmp_path: Path) -> None:
    """A converter wrote one for what is open; LiteRT computes each shape from the inputs'."""
    w = TfliteWriter()
    x = w.tensor((4, 2, 3), name="x", signature=(-1, 2, 3))
    rows = w.tensor((1, 3), name="rows", signature=(-1, 3))
    made = w.tensor((1, 5), name="made", signature=(-1, 5))
    w.operator("RESHAPE", [x, w.numbers([-1, 3])], [rows], "ReshapeOptions")
    w.operator("FULLY_CONNECTED", [rows, w.weight((5, 3))], [made], "FullyConnectedOptions")
    w.inputs, w.outputs = [x], [made]
    graph = sp.load(w.save(tmp_path / "batch.tflite"), granularity="aten")
    assert (graph.tensors["made"].shape, graph.macs) == ((8, 5), 8 * 5 * 3)


def test_a_shape_that_is_computed_from_shapes_is_known(tmp_path: Path) -> None:
    """Twice as large as the map is, whatever that comes to be: the file says one."""
    w = TfliteWriter()
    x = w.tensor((1, 3, 5, 2), name="x", signature=(-1, -1, -1, 2))
    sizes = w.operator("SHAPE", [x], [w.tensor((4,), "int32")], "ShapeOptions", OutType=2)
    some = [sizes, *(w.numbers([n]) for n in (1, 3, 1))]
    sizes = w.operator("STRIDED_SLICE", some, [w.tensor((2,), "int32")], "StridedSliceOptions")
    twice = [w.tensor((2,), "int32")]
    sizes = w.operator("MUL", [sizes, w.numbers([2, 2])], twice, "MulOptions")
    y = w.tensor((1, 1, 1, 2), name="y", signature=(-1, -1, -1, 2))
    w.inputs = [x]
    w.outputs = [w.operator("RESIZE_BILINEAR", [x, sizes], [y], "ResizeBilinearOptions")]
    assert sp.load(w.save(tmp_path / "twice.tflite")).tensors["y"].shape == (1, 2, 6, 10)


@pytest.mark.parametrize("seed", [*range(12), 41, 44, 58])
def test_networks_with_open_sizes_have_the_shapes_that_they_run_with(
    seed: int, tmp_path: Path
) -> None:
    """`benchmarks/tflite_litert.py` asks LiteRT for the same."""
    net, file = open_network(seed)
    graph = sp.load(file.save(tmp_path / "net.tflite"), granularity="aten")
    known = {t["name"]: prod(t["shape"]) for t in net.w.tensors}
    assert all(t.elements == known.get(name, t.elements) for name, t in graph.tensors.items())
    assert graph.macs == net.macs


@pytest.mark.parametrize("seed", range(12))
def test_open_sizes_may_be_given(seed: int, tmp_path: Path) -> None:
    """As `benchmarks/tflite_litert.py resized` asks LiteRT; and numbers go through the plan."""
    net, file = resized_network(seed)
    path, (given,) = file.save(tmp_path / "net.tflite"), net.w.inputs
    shape = list(net.w.tensors[given]["shape"])
    graph = sp.load(path, input_shape=shape, granularity="aten")
    known = {t["name"]: prod(t["shape"]) for t in net.w.tensors}
    assert all(t.elements == known.get(name, t.elements) for name, t in graph.tensors.items())
    assert graph.macs == net.macs
    plan = sp.plan(sp.load(path, input_shape=[shape]), budget="MR")
    try:
        assert sp.execute(plan, path).bit_exact
    except sp.BadInput as error:
        assert "there is no kernel" in str(error)  # noqa: PT017


def test_other_sizes_than_the_open_ones_are_refused(tmp_path: Path) -> None:
    w = TfliteWriter()
    x = w.tensor((1, 1, 4), name="x", signature=(-1, -1, 4))
    table = w.weight((2, 3, 1, 4))
    four = w.operator("EXPAND_DIMS", [x, w.numbers([2])], [w.tensor((1, 1, 1, 4), name="four")])
    y = w.tensor((1, 1, 1, 2), name="y", signature=(-1, -1, 1, 2))
    given = {"Padding": VALID, "StrideH": 1, "StrideW": 1}
    w.inputs, reads = [x], [four, table, w.weight((2,))]
    w.outputs = [w.operator("CONV_2D", reads, [y], "Conv2DOptions", **given)]
    path = w.save(tmp_path / "window.tflite")
    with pytest.raises(sp.BadInput, match="gives no elements where the inputs have 1x1x4: give"):
        sp.load(path)
    with pytest.raises(sp.BadInput, match="gives no elements where the inputs have 1x2x4"):
        sp.load(path, input_shape=(1, 2, 4))
    assert sp.load(path, input_shape=(2, 5, 4)).tensors["y"].shape == (2, 2, 3, 1)
    for wrong in ((2, 5, 3), (2, 5), (0, 5, 4), (2, -1, 4)):
        with pytest.raises(sp.BadInput):
            sp.load(path, input_shape=wrong)


def test_what_begins_as_zeros_for_an_open_batch_is_read(tmp_path: Path) -> None:
    """Its open axis is that of the input, by its shape."""
    w = TfliteWriter()
    x = w.tensor((1, 3), name="x", signature=(-1, 3))
    shape = w.operator("SHAPE", [x], [w.tensor((2,), "int32", name="s")], "ShapeOptions")
    zero = w.tensor((), "float32", np.zeros((), np.float32))
    zeros = w.operator("FILL", [shape, zero], [w.tensor((1, 3), name="z", signature=(-1, 3))])
    w.inputs = [x]
    y = w.tensor((1, 3), name="y", signature=(-1, 3))
    w.outputs = [w.operator("ADD", [x, zeros], [y], "AddOptions")]
    assert sp.load(w.save(tmp_path / "zeros.tflite")).tensors["y"].shape == (1, 3)


@pytest.mark.parametrize("seed", range(8))
def test_elements_of_every_type_have_their_bits(seed: int, tmp_path: Path) -> None:
    """Wherever the schema has two places for what a file says: all are read alike."""
    for net, path in typed_files(seed, tmp_path):
        graph, sizes = sp.load(path, granularity="aten"), net.sizes()
        assert {name: graph.size_bytes(name) for name in graph.tensors if name in sizes} == {
            name: size for name, size in sizes.items() if name in graph.tensors
        }
        assert graph.macs == net.macs


@pytest.mark.parametrize("behind", [False, True])
def test_options_of_a_custom_operator_lie_in_either_place(behind: bool, tmp_path: Path) -> None:
    start = 4096
    given = {"large_custom": (start, 3)} if behind else {"custom": b"abc"}
    w = TfliteWriter()
    x = w.tensor((1, 3))
    w.inputs, w.outputs = [x], [w.operator("Own", [x], [w.tensor((1, 3))], "", **given)]
    path = tmp_path / "own.tflite"
    path.write_bytes(w.to_bytes().ljust(start, b"\0") + b"abc")
    assert read_tflite(path).subgraphs[0].operators[0].custom_options == b"abc"
    if behind:
        path.write_bytes(path.read_bytes()[:-1])
        with pytest.raises(sp.BadInput, match="cut short"):
            read_tflite(path)
