"""TensorFlow Lite Micro's plan computed anew: by hand, at random, and against the runtime."""

from __future__ import annotations

import random
import re
from pathlib import Path

import numpy as np
import pytest

import planners as sp
from planners.audits.conflicts import conflicts
from planners.audits.foreign import ForeignTensor
from planners.audits.readers.tflm import ARENA, METADATA, greedy, read_tflm
from planners.core.errors import BadInput
from tests.importers.test_tflite import for_ethos_u
from tests.importers.tflite_models import TfliteWriter


def chain(sizes: list[int], dtype: str = "int8") -> TfliteWriter:
    """ReLUs and paddings from one size to the next."""
    w = TfliteWriter()
    at = w.tensor((1, sizes[0]), dtype, name="in", scale=0.5)
    w.inputs = [at]
    for number, size in enumerate(sizes[1:]):
        before, pads = w.tensors[at]["shape"][1], np.zeros((2, 2), np.int32)
        to = w.tensor((1, size), dtype, name=f"x{number}", scale=0.5)
        if size == before:
            at = w.operator("RELU", [at], [to])
        else:
            pads[1, 1] = size - before
            at = w.operator("PAD", [at, w.tensor((2, 2), "int32", pads)], [to], "PadOptions")
    w.outputs = [at]
    return w


def with_offsets(w: TfliteWriter, offsets: list[int]) -> TfliteWriter:
    numbers = [1, 0, len(offsets), *offsets]
    w.metadata[METADATA] = np.array(numbers, "<i4").tobytes()
    return w


def test_a_chain_by_hand(tmp_path: Path) -> None:
    plan = read_tflm(chain([20, 20, 40]).save(tmp_path / "net.tflite"))
    assert plan.steps == ("inputs", "relu", "pad")
    lives = [(t.name, t.lower, t.upper, t.size_bytes, t.offset) for t in plan.tensors]
    # Rounded up to 16; the 48 bytes first, then of equals the last.
    assert lives == [("in", 0, 2, 32, 0), ("x0", 1, 3, 32, 48), ("x1", 2, 3, 48, 0)]
    assert plan.own_peak == {ARENA: 80}
    assert "greedy" in plan.notes[0]


def test_offsets_of_the_file_are_kept(tmp_path: Path) -> None:
    w = with_offsets(chain([32, 32, 32]), [64, -1, 0])
    plan = read_tflm(w.save(tmp_path / "net.tflite"))
    assert [t.offset for t in plan.tensors] == [64, 32, 0]
    assert plan.own_peak == {ARENA: 96}
    assert "2 of 3 tensors" in plan.notes[0]


@pytest.mark.parametrize(
    ("offsets", "words"),
    [([0, 0], "2 offsets for 3 tensors"), ([0, -16, 0], "cannot lie at -16")],
)
def test_broken_offsets(offsets: list[int], words: str, tmp_path: Path) -> None:
    path = with_offsets(chain([32, 32, 32]), offsets).save(tmp_path / "net.tflite")
    with pytest.raises(BadInput, match=words):
        read_tflm(path)


@pytest.mark.parametrize("seed", range(50))
def test_greedy_is_what_the_rule_says(seed: int) -> None:
    """Against the rule said another way: byte by byte, the lowest free place."""
    rng = random.Random(seed)
    tensors = []
    for number in range(rng.randint(1, 9)):
        lower = rng.randrange(8)
        upper = lower + rng.randint(1, 4)
        tensors.append(ForeignTensor(str(number), lower, upper, 16 * rng.randint(1, 5)))
    given = {t.id: 16 * rng.randrange(6) for t in tensors if rng.random() < 0.2}
    placed = {t.id: t for t in greedy(tensors, given)}
    done: list[ForeignTensor] = [placed[id] for id in given]
    order = sorted((t for t in tensors if t.id not in given), key=lambda t: int(t.id), reverse=True)
    for tensor in sorted(order, key=lambda t: -t.size_bytes):
        taken = {
            byte
            for other in done
            if other.lower < tensor.upper
            and tensor.lower < other.upper
            and other.offset is not None
            for byte in range(other.offset // 16, other.stop // 16)
        }
        at = 0
        while taken & set(range(at, at + tensor.size_bytes // 16)):
            at += 1
        assert placed[tensor.id].offset == 16 * at
        done.append(placed[tensor.id])
    if not given:
        assert not conflicts(list(placed.values()))


@pytest.mark.parametrize("seed", range(40))
def test_broken_files_are_refused_in_a_line(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    data = bytearray(with_offsets(chain([32, 40, 40]), [-1, -1, 32, -1]).to_bytes())
    if seed % 2:
        del data[rng.randrange(8, len(data)) :]
    for _ in range(rng.randint(1, 8)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    path = tmp_path / "net.tflite"
    path.write_bytes(data)
    assert said(path)


def said(path: Path) -> str:
    """What reading a file ends in: a plan, or one line. Any other error goes on."""
    try:
        words = read_tflm(path).tool
    except BadInput as error:
        words = str(error)
    return words if "\n" not in words else ""


def one(
    kind: str,
    inputs: list[tuple[tuple[int, ...], str] | np.ndarray],
    output: tuple[tuple[int, ...], str],
    options: str = "",
    state: int = -1,
    **given: int,
) -> TfliteWriter:
    """A single operator; arrays are constants, operand `state` a variable."""
    w = TfliteWriter()
    numbers = []
    for k, operand in enumerate(inputs):
        if isinstance(operand, np.ndarray):
            numbers.append(w.tensor(operand.shape, str(operand.dtype), operand, scale=0.5))
            continue
        numbers.append(w.tensor(*operand, scale=0.5, variable=k == state))
        w.inputs += [] if k == state else [numbers[-1]]
    w.outputs = [w.operator(kind, numbers, [w.tensor(*output, scale=0.5)], options, **given)]
    return w


AXES = np.array([1, 2], np.int32)
MAPS: dict[str, tuple[tuple[tuple[int, ...], str], tuple[tuple[int, ...], str]]] = {
    kind: (((1, 4, 4, 24), kind), ((1, 24), kind)) for kind in ("int8", "int16", "float32")
}
TRANSPOSED = {"Padding": 0, "StrideH": 2, "StrideW": 2}
ASKING = {
    # What the interpreter of tflite-micro 0.dev20261023 printed.
    "mean of int8": (544, one("MEAN", [MAPS["int8"][0], AXES], MAPS["int8"][1], "ReducerOptions")),
    "sum of int16": (944, one("SUM", [MAPS["int16"][0], AXES], MAPS["int16"][1], "ReducerOptions")),
    "mean of floats": (
        1664,
        one("MEAN", [MAPS["float32"][0], AXES], MAPS["float32"][1], "ReducerOptions"),
    ),
    "largest": (448, one("REDUCE_MAX", [MAPS["int8"][0], AXES], MAPS["int8"][1], "ReducerOptions")),
    "sums of three": (224, one("ADD_N", [((1, 40), "int8")] * 3, ((1, 40), "int8"))),
    "transposed int8": (
        1312,
        one(
            "TRANSPOSE_CONV",
            [
                np.array([1, 8, 8, 4], np.int32),
                np.ones((4, 3, 3, 2), np.int8),
                ((1, 4, 4, 2), "int8"),
            ],
            ((1, 8, 8, 4), "int8"),
            "TransposeConvOptions",
            **TRANSPOSED,
        ),
    ),
    "transposed int16": (
        2624,
        one(
            "TRANSPOSE_CONV",
            [
                np.array([1, 8, 8, 4], np.int32),
                np.ones((4, 3, 3, 2), np.int8),
                ((1, 4, 4, 2), "int16"),
            ],
            ((1, 8, 8, 4), "int16"),
            "TransposeConvOptions",
            **TRANSPOSED,
        ),
    ),
    "svdf": (
        96,
        one(
            "SVDF",
            [
                ((1, 10), "float32"),
                np.ones((8, 10), np.float32),
                np.ones((8, 5), np.float32),
                np.ones((4,), np.float32),
                ((1, 40), "float32"),
            ],
            ((1, 4), "float32"),
            "SVDFOptions",
            state=4,
            Rank=2,
        ),
    ),
}


@pytest.mark.parametrize("name", ASKING)
def test_what_kernels_ask_for_is_in_the_head(name: str, tmp_path: Path) -> None:
    head, w = ASKING[name]
    plan = read_tflm(w.save(tmp_path / "net.tflite"))
    assert plan.own_peak == {ARENA: head}
    scratch = [t for t in plan.tensors if t.id.startswith("scratch")]
    assert scratch
    assert {(t.lower, t.upper) for t in scratch} == {(1, 2)}
    assert "of the reference kernels" in plan.notes[1]


@pytest.mark.parametrize("name", ASKING)
def test_the_runtime_prints_the_same_with_scratch(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    head, w = ASKING[name]
    assert head_of(w.save(tmp_path / "net.tflite"), capfd) == head


def test_what_nobody_touches_has_a_place_of_its_own(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    w = chain([40, 40])
    w.tensor((1, 999), "int8")
    path = w.save(tmp_path / "net.tflite")
    plan = read_tflm(path)
    assert plan.steps == ("inputs", "relu", "never")
    assert plan.own_peak == {ARENA: 1008}
    assert head_of(path, capfd) == 1008


def test_custom_operators_make_it_a_lower_bound(tmp_path: Path) -> None:
    w = one("MyOwn", [((1, 40), "int8")], ((1, 40), "int8"))
    plan = read_tflm(w.save(tmp_path / "net.tflite"))
    assert "a lower bound: what MyOwn ask" in plan.notes[1]


def branching(kind: str, seed: int = 0) -> TfliteWriter:
    """A chain with an operator in it that runs one chain of ReLUs or another."""
    rng = random.Random(seed)
    w = TfliteWriter()
    which = w.tensor((1,), "bool", name="which")
    x = w.tensor((1, 100), "float32", name="x")
    w.inputs = [which, x] if kind == "IF" else [x]
    before = w.operator("RELU", [x], [w.tensor((1, 100), "float32", name="before")])
    after = w.tensor((1, 100), "float32", name="after")
    if kind == "IF":
        options = {"ThenSubgraphIndex": 1, "ElseSubgraphIndex": 2}
        w.operators.append(("IF", [which, before], [after], "IfOptions", options))
    else:
        options = {"CondSubgraphIndex": 1, "BodySubgraphIndex": 2}
        w.operators.append(("WHILE", [before], [after], "WhileOptions", options))
    last = w.operator("RELU", [after], [w.tensor((1, 100), "float32", name="last")])
    w.outputs = [w.operator("ADD", [last, before], [w.tensor((1, 100))], "AddOptions")]
    for number in (1, 2):
        inner = TfliteWriter()
        at = inner.tensor((1, 100), "float32", name=f"in {number}")
        inner.inputs = [at]
        for k in range(rng.randint(1, 4)):
            name = f"{number}.{k}"
            at = inner.operator("RELU", [at], [inner.tensor((1, 100), "float32", name=name)])
        if kind == "WHILE" and number == 1:
            at = inner.operator("LESS", [at, at], [inner.tensor((1, 100), "bool")], "LessOptions")
        inner.outputs = [at]
        w.others.append(inner)
    return w


def test_subgraphs_run_while_their_operator_does(tmp_path: Path) -> None:
    plan = read_tflm(branching("IF", 3).save(tmp_path / "net.tflite"))
    (begin,) = [at for at, step in enumerate(plan.steps) if step == "if"]
    names = [step for step in plan.steps if step.startswith("subgraph")]
    assert names == ["subgraph 1", "subgraph 2"]
    lives = {t.name: (t.lower, t.upper) for t in plan.tensors}
    end = lives["after"][0]
    assert end == begin
    assert lives["after"][1] == len(plan.steps) - 1
    first, second = (plan.steps.index(name) for name in names)
    assert lives["in 1"][0] == first
    assert begin < first < lives["1.0"][0] < second < lives["2.0"][0]
    assert lives["before"][1] == len(plan.steps)
    assert plan.graph is None
    assert not conflicts(plan.tensors)


@pytest.mark.parametrize("kind", ["IF", "WHILE"])
@pytest.mark.parametrize("seed", range(3))
def test_the_runtime_prints_the_same_head_of_several_subgraphs(
    kind: str, seed: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = branching(kind, seed).save(tmp_path / "net.tflite")
    assert read_tflm(path).own_peak[ARENA] == head_of(path, capfd)


def test_offsets_of_several_subgraphs_are_one_behind_the_other(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    w = branching("IF", 1)
    count = sum(len(each.tensors) for each in (w, *w.others))
    offsets = [800 * k for k in range(count)]
    path = with_offsets(w, offsets).save(tmp_path / "net.tflite")
    plan = read_tflm(path)
    assert plan.own_peak[ARENA] == 800 * (count - 1) + 400
    assert plan.own_peak[ARENA] == head_of(path, capfd)


@pytest.mark.parametrize(
    ("index", "words"), [(0, "runs itself"), (7, "which is not there"), (1, "runs itself")]
)
def test_subgraphs_that_are_not_there(index: int, words: str, tmp_path: Path) -> None:
    w = branching("IF")
    w.others[0].operators = [
        ("IF", [0, 0], [1], "IfOptions", {"ThenSubgraphIndex": index, "ElseSubgraphIndex": 2})
    ]
    with pytest.raises(BadInput, match=words):
        read_tflm(w.save(tmp_path / "net.tflite"))


def head_of(path: Path, capfd: pytest.CaptureFixture[str]) -> int:
    """The head that the runtime prints."""
    runtime = pytest.importorskip("tflite_micro.python.tflite_micro.runtime")
    interpreter = runtime.Interpreter.from_file(str(path), arena_size=1 << 20)
    capfd.readouterr()
    interpreter.print_allocations()
    found = re.search(r"allocation head (\d+) bytes", "".join(capfd.readouterr()))
    assert found
    return int(found[1])


@pytest.mark.parametrize("seed", range(10))
def test_the_runtime_prints_the_same_head(
    seed: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    rng = random.Random(seed)
    sizes = [rng.randint(1, 400)]
    for _ in range(rng.randint(1, 9)):
        sizes.append(sizes[-1] + rng.choice([0, 0, rng.randint(1, 300)]))
    w = chain(sizes)
    if seed % 2:
        count = len(w.tensors)
        with_offsets(w, [rng.choice([-1, 16 * rng.randrange(40)]) for _ in range(count)])
    path = w.save(tmp_path / "net.tflite")
    assert read_tflm(path).own_peak[ARENA] == head_of(path, capfd)


def test_fast_memory_is_another_than_the_arena(tmp_path: Path) -> None:
    """Vela counts its addresses from its own beginning, for an Ethos-U65 or U85 by default."""
    w = with_offsets(for_ethos_u(one=False), [-1, -1, 0, 0, 0, 128, 0])
    plan = read_tflm(w.save(tmp_path / "net_vela.tflite"))
    assert {t.name: (t.memory, t.lower, t.upper, t.offset) for t in plan.tensors} == {
        "scratch": (ARENA, 0, 2, 0),
        "scratch_fast": ("fast memory", 0, 2, 0),
        "y": (ARENA, 2, 3, 128),
        "z": (ARENA, 2, 3, 0),
    }
    found = sp.audit(tmp_path / "net_vela.tflite")
    assert (found.broken, [m.peak_bytes for m in found.memories]) == (False, [704, 96])
    assert any("lies in the fast memory" in note for note in plan.notes)


def test_maps_within_memory_that_an_operator_works_in_are_in_it(tmp_path: Path) -> None:
    """Vela lays its operators' maps there: one block until they are done, its inside their own.

    x at 0 and y behind it lie in a scratch of 700; z, of 128, is laid over it once that is done.
    """
    w = with_offsets(for_ethos_u(), [-1, -1, 0, 0, 128, 0])
    plan = read_tflm(w.save(tmp_path / "net_vela.tflite"))
    assert {t.name: (t.lower, t.upper, t.offset) for t in plan.tensors} == {
        "scratch": (0, 2, 0),
        "y": (2, 3, 128),
        "z": (2, 3, 0),
    }
    assert not conflicts(plan.tensors)
    assert plan.own_peak == {ARENA: 704}
    assert any("1 of these lies in memory" in note for note in plan.notes)
