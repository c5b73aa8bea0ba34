"""C code of plans: compiled, run, and equal to the reference in every byte."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch

import planners as sp
from planners.backends.c import generate, write_code
from planners.backends.c.of_plan import checksum, inputs
from planners.backends.c.runs import comment
from planners.backends.int8.net import QNet
from planners.backends.int8.random_net import random_net
from planners.backends.int8.reference import run_reference
from planners.core.details.pool import Buffer, KernelRun, PoolLayout
from planners.core.errors import BadInput
from planners.core.graph import Graph, Operator, Part, Tensor
from planners.overlap.emit.saved_layout import layout_of
from planners.overlap.kernels.bottleneck import recomputing
from planners.overlap.kernels.candidates import RunCandidate, alone, line
from tests.importers.few_blocks import few_blocks
from tests.overlap.small_nets import Builder, apart, chained
from tests.plans import plan_of

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler: install gcc")
needs_size = pytest.mark.skipif(shutil.which("size") is None, reason="no `size`: install binutils")

STRICT = "-std=c99 -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Werror".split()
SANITIZED = "-O1 -fsanitize=address,undefined -fno-sanitize-recover=all".split()
PLAIN = "-O2 -fno-pie -no-pie".split()


def compiled(net: QNet, layout: PoolLayout, folder: Path, flags: list[str]) -> Path:
    """The program of a network; any warning is an error."""
    write_code(net, layout, folder)
    sources = sorted(str(path) for path in folder.glob("*.c"))
    program = folder.with_name(f"{folder.name}.program")
    command = [COMPILER or "", *STRICT, *flags, "-o", str(program), *sources]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:3000]
    return program


def outputs_of(program: Path) -> tuple[str, str]:
    """The checksum that a program prints, and its outputs in hex."""
    done = subprocess.run([program, "--hex"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:3000]
    first, *rest = done.stdout.split("\n")
    return first, "".join(rest)


def expected(net: QNet) -> tuple[str, str]:
    found = run_reference(net, inputs(net.graph))
    data = b"".join(found[name].tobytes() for name in net.graph.outputs)
    return f"checksum {checksum(data):08x}", data.hex()


def runs_right(net: QNet, layout: PoolLayout, folder: Path, flags: list[str] = SANITIZED) -> None:
    assert outputs_of(compiled(net, layout, folder, flags)) == expected(net)


def every_kernel() -> Graph:
    """A network with each kernel, odd windows, paddings and strides, and several readers."""
    b = Builder((1, 3, 11, 14))
    x = b.conv("x", 8, (3, 5), (2, 1), (1, 2), activation="relu")
    x = b.conv(x, 12, (3, 3), (1, 1), (2, 2), (2, 2), groups=4, activation="hardswish")
    y = b.depthwise(x, (3, 3), (1, 1), (1, 1), "hardtanh")
    x = b.same("add", x, y)
    y = b.pool("max_pool2d", x, (3, 3), (1, 1), (1, 1))
    z = b.pool("avg_pool2d", x, (3, 3), (1, 1), (1, 1))
    x = b.cat(y, z, x)
    gate = b.conv(b.global_average(x), 36, activation="hardsigmoid")
    x = b.same("mul", gate, x)
    x = b.same("mul", x, b.same("silu", x))
    x = b.conv(x, 7, (2, 1), (2, 3), (0, 0))
    x = b.linear(b.linear(x, 30, "relu"), 11)
    return b.graph(x)


@needs_compiler
def test_every_kernel_alone(tmp_path: Path) -> None:
    graph = every_kernel()
    runs_right(random_net(graph, 3), apart(graph, 1001), tmp_path / "code")


FORMS = ("line", "window", "columns", "tile")
SEEDS = (1, 3, 4)
Pieces = list[RunCandidate]


def window_of(rng: random.Random, image: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Kernel, stride and padding, odd and even, of a window that touches every pixel."""
    kernel = tuple(min(rng.randint(1, 4), n) for n in image)
    stride = tuple(rng.randint(1, min(2, k)) for k in kernel)
    padding = tuple(rng.randint(0, (k - 1) // 2) for k in kernel)
    return kernel, stride, padding


def block(b: Builder, rng: random.Random, x: str) -> tuple[str, list[int]]:
    """An inverted bottleneck; the name of its output, and its operators."""
    first, channels, image = len(b.operators), b.shape(x)[1], b.shape(x)[2:]
    middle = rng.randint(5, 11)
    residual = rng.random() < 0.5
    kernel, stride, padding = window_of(rng, tuple(n // 2 for n in image))
    if residual:
        side = rng.choice([1, 3, 5])
        kernel, stride, padding = (side, side), (1, 1), (side // 2, side // 2)
    activation = rng.choice(["", "relu", "hardswish"])
    if not residual and rng.random() < 0.3:  # As a network's first block.
        y = b.conv(x, middle, (3, 3), (rng.choice([1, 2]), 1), (1, 1), activation=activation)
    else:
        y = b.conv(x, middle, activation=activation)
    y = b.depthwise(y, kernel, stride, padding, rng.choice(["", "hardtanh"]))
    y = b.conv(y, channels if residual else rng.randint(1, 9))
    if residual:
        y = b.same("add", x, y)
    return y, list(range(first, len(b.operators)))


def chain_of_blocks(seed: int) -> tuple[Graph, list[list[int]]]:
    rng = random.Random(seed)
    b = Builder((1, rng.randint(1, 5), rng.randint(12, 20), rng.randint(12, 20)))
    x, groups = "x", []
    while len(groups) < 8 and min(b.shape(x)[2:]) > 4:
        x, group = block(b, rng, x)
        groups.append(group)
    return b.graph(x), groups


def in_forms(graph: Graph, groups: list[list[int]], first: int) -> Pieces:
    """Each block in a form, in turn; as a line where it cannot run in the form that is next."""
    found = []
    for number, group in enumerate(groups, first):
        ways = [way for way in (line(graph, group), *recomputing(graph, group)) if way is not None]
        wanted = [way for way in ways if way.form == FORMS[number % len(FORMS)]] or ways[:1]
        found.append(wanted[number // len(FORMS) % len(wanted)])
    return found


@needs_compiler
@pytest.mark.parametrize("channels", [(6, 9), (9, 6)])
def test_one_byte_nearer_and_outputs_are_lost(tmp_path: Path, channels: tuple[int, int]) -> None:
    """The kernels write and read in the order that distances are proven for."""
    given, made = channels
    b = Builder((1, given, 7, 8))
    graph = b.graph(b.conv("x", made, (3, 3), padding=(1, 1)))
    net, run = random_net(graph, 7), alone(graph, 0)
    runs_right(net, chained(graph, [run]), tmp_path / "right")
    near = replace(run, distances={"x": run.distances["x"] - 1})
    program = compiled(net, chained(graph, [near]), tmp_path / "wrong", SANITIZED)
    assert outputs_of(program) != expected(net)


@needs_compiler
@pytest.mark.parametrize("seed", SEEDS)
def test_blocks_in_every_form_on_top_of_their_inputs(tmp_path: Path, seed: int) -> None:
    graph, groups = chain_of_blocks(seed)
    layout = chained(graph, in_forms(graph, groups, seed))
    runs_right(random_net(graph, seed), layout, tmp_path / "code")


def test_the_seeds_have_every_form() -> None:
    seen = set()
    for seed in SEEDS:
        graph, groups = chain_of_blocks(seed)
        for way in in_forms(graph, groups, seed):
            first = graph.operators[way.operators[0]]
            seen.add((way.form, len(way.operators), first.kernel != (1, 1)))
    with_window = {(form, 3, True) for form in FORMS}
    assert seen == with_window | {(form, n, False) for form in FORMS for n in (3, 4)}


@needs_compiler
def test_blocks_that_do_not_expand(tmp_path: Path) -> None:
    """A depthwise and a projecting convolution in each form that has one of its pixels kept."""
    b = Builder((1, 5, 7, 6))
    x, runs = "x", []
    for form in ("window", "columns", "tile"):
        y = b.depthwise(x, (3, 3), (1, 1), (1, 1), "relu")
        x = b.conv(y, 5)
        names = tuple(op.name for op in b.operators[-2:])
        runs.append((form, names, y, x))
    graph = b.graph(x)
    layout = apart(graph, 3)
    laid = []
    for form, names, y, z in runs:  # What is kept of y lies where all of y would.
        at, tile = layout.offsets[y], 2 if form == "tile" else 5
        sums = (Buffer(z, at + tile, 1, 4 * 5, sums=True),) if form == "tile" else ()
        laid.append(KernelRun(form, names, (Buffer(y, at, 1, tile), *sums), tile % 5))
    runs_right(random_net(graph, 2), replace(layout, runs=tuple(laid)), tmp_path / "code")


def lines(seed: int) -> tuple[Graph, list[list[int]]]:
    """Groups of operators of all sorts, some read twice inside of their group."""
    rng = random.Random(seed)
    b = Builder((1, 4, 22, 19))
    x, groups = "x", []
    for _ in range(4):
        first = len(b.operators)
        for _ in range(rng.randint(2, 5)):
            image = b.shape(x)[2:]
            kernel, stride, padding = window_of(rng, tuple(map(min, image, (3, 5))))
            channels = b.shape(x)[1]
            kind = rng.choice(["conv", "grouped", "depthwise", "max_pool2d", "avg_pool2d", "twice"])
            if kind == "conv":
                x = b.conv(x, rng.randint(2, 9), kernel, stride, padding, activation="relu")
            elif kind == "grouped":
                x = b.conv(b.conv(x, 6), 8, kernel, stride, padding, groups=2)
            elif kind == "depthwise":
                x = b.depthwise(x, kernel, stride, padding, "hardswish")
            elif kind == "twice":
                y = b.cat(b.conv(x, channels, (3, 3), padding=(1, 1)), b.same("sigmoid", x))
                x = b.same("add", x, b.conv(y, channels))
            else:
                x = b.pool(kind, x, kernel, stride, padding)
        groups.append(list(range(first, len(b.operators))))
    return b.graph(x), groups


@needs_compiler
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2))]
)
def test_operators_of_all_sorts_that_pull_from_one_another(tmp_path: Path, seed: int) -> None:
    graph, groups = lines(seed)
    runs = [line(graph, group) for group in groups]
    layout = chained(graph, [run for run in runs if run is not None])
    assert len(layout.runs) == len(groups)
    runs_right(random_net(graph, seed), layout, tmp_path / "code")


@needs_compiler
def test_a_classifier_of_the_input_itself(tmp_path: Path) -> None:
    b = Builder((1, 3, 4, 5))
    graph = b.graph(b.linear("x", 4))
    runs_right(random_net(graph, 1), apart(graph, 62), tmp_path / "code")


@needs_compiler
def test_rows_of_vectors_and_two_inputs_and_outputs(tmp_path: Path) -> None:
    shapes = {"x": (1, 6, 5), "y": (1, 6, 5), "sum": (1, 6, 5), "w": (3, 5), "rows": (1, 6, 3)}
    kinds = {"x": "input", "y": "input", "w": "parameter"}
    tensors = {n: Tensor(n, shape, kinds.get(n, "activation")) for n, shape in shapes.items()}
    add = Operator("sum", "add", ("x", "y"), ("sum",), parts=(Part("sum", "add"),))
    rows = Operator(
        "rows", "linear", ("sum",), ("rows",), ("w",), 90, parts=(Part("rows", "linear"),)
    )
    graph = Graph("rows", tensors, (add, rows), ("x", "y"), ("sum", "rows"))
    runs_right(random_net(graph, 1), apart(graph, 70), tmp_path / "code")


@needs_compiler
def test_chosen_channels(tmp_path: Path) -> None:
    """Operators that read the channels of an input in another order, as shuffled ones do."""
    b = Builder((1, 6, 5, 4))
    x = b.conv(b.depthwise("x", (3, 3), (1, 1), (1, 1)), 6, (2, 2), groups=2)
    x = b.same("add", x, b.pool("max_pool2d", x, (1, 1), (1, 1), (0, 0)))
    x = b.same("mul", x, b.global_average(x))
    graph = b.graph(b.same("relu", b.cat(x, b.same("tanh", x))))
    net, rng = random_net(graph, 1), np.random.default_rng(1)
    ops = {}
    for name, op in net.ops.items():
        wide = [graph.tensors[t].shape[1] for t in op.inputs]
        ops[name] = replace(op, channels=tuple(rng.permutation(n) for n in wide))
    runs_right(replace(net, ops=ops), apart(graph, 77), tmp_path / "code")


def memory_of(folder: Path) -> dict[str, int]:
    """Bytes of writable memory of the objects of model and kernels, by section."""
    objects = []
    for name in ("model", "kernels"):
        objects.append(str(folder / f"{name}.o"))
        source = str(folder / f"{name}.c")
        done = [COMPILER or "", *STRICT, "-O2", "-fno-pie", "-c", "-o", objects[-1], source]
        subprocess.run(done, check=True)
    listed = subprocess.run(["size", "-A", *objects], capture_output=True, text=True, check=True)
    found: dict[str, int] = {}
    for section, size in re.findall(r"^(\.(?:bss|data)\S*)\s+(\d+)", listed.stdout, re.M):
        found[section] = found.get(section, 0) + int(size)
    return found


@cache
def network(name: str) -> Graph:
    """Of the catalogue, or a few of MobileNet v2's blocks."""
    if name != "a few blocks":
        return sp.load(name, input_shape=(1, 3, 96, 96) if "v2" in name else None)
    image = torch.ones(1, 3, 32, 32)
    return sp.from_torch(few_blocks("mobilenet"), image, bytes_per_element=1)


@needs_compiler
@needs_size
@pytest.mark.parametrize(
    "name", ["a few blocks", pytest.param("mcunet_vww1", marks=pytest.mark.long)]
)
@pytest.mark.parametrize("flags", [PLAIN, SANITIZED], ids=["plain", "sanitized"])
def test_a_planned_network_has_the_memory_of_its_plan_and_no_other(
    flags: list[str], name: str, tmp_path: Path
) -> None:
    plan = plan_of(network(name), "overlap", "64KB")
    runs_right(random_net(plan.graph, 5), layout_of(plan), tmp_path / "code", flags)
    if flags == PLAIN:
        assert memory_of(tmp_path / "code") == {".data": 0, ".bss": plan.claims.objective_bytes}


@needs_compiler
@pytest.mark.parametrize(
    ("name", "budget"),
    [
        ("a few blocks", 21_000),
        pytest.param("mobilenet_v2", 64_000, marks=pytest.mark.long),
    ],
)
def test_mobilenet_v2_in_a_pool_of_its_budget(name: str, budget: int, tmp_path: Path) -> None:
    graph = network(name)
    plan = plan_of(graph, "overlap", budget)
    layout = layout_of(plan)
    assert layout.pool_bytes == plan.claims.objective_bytes <= budget
    runs_right(random_net(graph, 5), layout, tmp_path / "code")


@needs_compiler
def test_the_makefile_builds_and_runs(tmp_path: Path) -> None:
    if shutil.which("make") is None:
        pytest.skip("no make")
    graph = every_kernel()
    net = random_net(graph, 4)
    write_code(net, apart(graph, 5), tmp_path / "code")
    done = subprocess.run(
        ["make", "-s", "run", "CC=" + (COMPILER or "")],
        cwd=tmp_path / "code",
        capture_output=True,
        text=True,
    )
    assert (done.stdout.strip(), done.stderr) == (expected(net)[0], "")


@pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="no arm-none-eabi-gcc")
@pytest.mark.skipif(shutil.which("make") is None, reason="no make")
def test_a_microcontroller_needs_the_same_memory(tmp_path: Path) -> None:
    graph = every_kernel()
    layout = apart(graph, 5)
    write_code(random_net(graph, 4), layout, tmp_path / "code")
    done = subprocess.run(["make", "arm"], cwd=tmp_path / "code", capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.split() for line in done.stdout.splitlines() if line.endswith(".o")]
    memory = {row[5]: (row[1], row[2]) for row in rows if len(row) == 6}
    assert memory["arm/kernels.o"] == ("0", str(layout.pool_bytes))
    assert memory["arm/model.o"] == memory["arm/weights.o"] == ("0", "0")


def test_layouts_that_cannot_be_code() -> None:
    graph, groups = chain_of_blocks(0)
    net, layout = random_net(graph, 0), apart(graph, 0)
    with pytest.raises(BadInput, match="a pool of 1 to"):
        generate(net, replace(layout, pool_bytes=2**31))
    with pytest.raises(BadInput, match="larger than the pool"):
        generate(net, replace(layout, pool_bytes=2))
    without = {name: at for name, at in layout.offsets.items() if name != "x"}
    with pytest.raises(BadInput, match="no place for 'x'"):
        generate(net, replace(layout, offsets=without))
    joined = [KernelRun("line", tuple(op.name for op in graph.operators))]
    with pytest.raises(BadInput, match="no buffer for tensor"):
        generate(net, replace(layout, runs=tuple(joined)))
    end = {**layout.offsets, graph.outputs[0]: layout.offsets[graph.operators[0].outputs[0]]}
    with pytest.raises(BadInput, match="is written over"):
        generate(net, replace(layout, offsets=end, runs=layout.runs[::-1]))
    op = graph.operators[groups[0][0]]
    heavy = replace(
        net.ops[op.name], bias=np.full(graph.tensors[op.outputs[0]].shape[1], 2**31 - 1)
    )
    with pytest.raises(BadInput, match="sums that may leave int32"):
        generate(replace(net, ops={**net.ops, op.name: heavy}), layout)


def test_names_that_are_no_identifiers() -> None:
    b = Builder((1, 2, 3, 3))
    graph = b.graph(b.conv("x", 2, activation="relu"))
    (op,) = graph.operators
    odd = replace(op, name="a */ int b\n")
    odd = replace(odd, parts=(replace(op.parts[0], name=odd.name), *op.parts[1:]))
    strange = replace(graph, operators=(odd,))
    text = generate(random_net(strange, 0), apart(strange, 0))["model.c"]
    assert "a * / int b : pointwise" in text
    assert "static const conv op_a____int_b_ = {" in text


def test_a_comment_shows_what_turns_the_direction_of_writing() -> None:
    assert comment("a\u202eb */ c\td\u200b") == r"a\u202eb * / c d\u200b"
