"""Sparse constants of `.tflite` files: what a writer of its own made sparse is read as it was."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import planners as sp
from planners.importers.tflite.file import read_tflite
from planners.importers.tflite.source_model import TfliteModel
from tests.importers.tflite_models import TfliteWriter

Levels = list[Any]


def sparse(
    array: np.ndarray, order: Sequence[int], blocks: dict[int, int], is_sparse: Sequence[bool]
) -> tuple[np.ndarray, Levels]:
    """The elements that are kept, and the levels: place by place, as the format is described.

    `blocks` has the size of a block by axis, in the order of their numbers behind the rank.
    """
    sizes = [n // blocks.get(axis, 1) for axis, n in enumerate(array.shape)] + [*blocks.values()]

    def place(at: dict[int, int]) -> tuple[int, ...]:
        inner = {axis: at[array.ndim + k] for k, axis in enumerate(blocks)}
        return tuple(at[a] * blocks.get(a, 1) + inner.get(a, 0) for a in range(array.ndim))

    def any_below(at: dict[int, int], level: int) -> bool:
        if level == len(order):
            return bool(array[place(at)])
        return any(
            any_below({**at, order[level]: k}, level + 1) for k in range(sizes[order[level]])
        )

    nodes: list[dict[int, int]] = [{}]
    levels: Levels = []
    for level, axis in enumerate(order):
        below: list[dict[int, int]] = []
        segments, indices = [0], []
        for node in nodes:
            for k in range(sizes[axis]):
                at = {**node, axis: k}
                if not is_sparse[level] or any_below(at, level + 1):
                    below.append(at)
                    indices.append(k)
            segments.append(len(indices))
        levels.append((segments, indices) if is_sparse[level] else sizes[axis])
        nodes = below
    return np.array([array[place(node)] for node in nodes], array.dtype), levels


def file_of(path: Path, shape: Sequence[int], values: np.ndarray, sparsity: Any) -> Path:
    """A weight behind DENSIFY, added to the input."""
    w, own = TfliteWriter(), {"scale": 0.05}
    x = w.tensor(shape, "int8", **own)
    weight = w.tensor(shape, "int8", values, **own, sparsity=sparsity)
    dense = w.operator("DENSIFY", [weight], [w.tensor(shape, "int8", **own)])
    w.inputs = [x]
    made = w.tensor(shape, "int8", **own)
    w.outputs = [w.operator("ADD", [x, dense], [made], "AddOptions")]
    return w.save(path)


@pytest.mark.parametrize("seed", range(24))
def test_what_was_made_sparse_is_read_as_it_was(seed: int, tmp_path: Path) -> None:
    random, rng = Random(seed), np.random.default_rng(seed)
    shape = [random.choice((2, 4, 6)) for _ in range(random.randint(1, 4))]
    array = (rng.integers(-9, 10, shape) * (rng.random(shape) < 0.3)).astype(np.int8)
    array.flat[-1] = 5  # an empty buffer is none
    axes = sorted(random.sample(range(len(shape)), random.randint(0, len(shape))))
    blocks = {axis: random.choice((1, 2)) for axis in axes}
    order = random.sample(range(len(shape)), len(shape))  # blocks go last, as converters have them
    order += range(len(shape), len(shape) + len(blocks))
    kinds = [k < len(shape) and random.random() < 0.7 for k in range(len(order))]
    values, levels = sparse(array, order, blocks, kinds)
    path = file_of(tmp_path / "sparse.tflite", shape, values, (order, axes, levels))
    file = read_tflite(path)
    read = file.numbers(file.subgraphs[0].tensors[1])
    assert read is not None
    assert (read == array).all()
    model = TfliteModel(path)
    zero = np.zeros(shape, np.int8)
    (made,) = model.outputs(model.input_values([zero]))
    assert (made == array).all()


@pytest.mark.parametrize(
    ("sparsity", "says"),
    [
        (((0, 1), (), (4, ([0, 1, 2, 3, 9], [0, 1, 2, 3]))), "segments that are out of bounds"),
        (((0, 1), (), (4, ([0, 1, 2, 3, 4], [0, 1, 2, 99]))), "out of bounds"),
        (((0, 1), (), (4, ([0, 4], [0, 1, 2, 3]))), "2 segments for 4 places"),
        (((0, 1), (), (2**30, 4)), "places"),
        (((0, 0), (), (4, 4)), "axes"),
        (((0, 1, 2), (7,), (2, 4, 2)), "blocks of axes"),
        (((0, 1, 2, 3), (1, 0), (2, 2, 2, 2)), "blocks of axes"),
        (((0, 1, 3, 2), (0, 1), (2, 2, 2, 2)), "blocks of axes"),
        (((0, 1), (), (4, 3)), "4 elements for 12 places"),
    ],
)
def test_what_is_broken_is_one_line(sparsity: Any, says: str, tmp_path: Path) -> None:
    values = np.ones(4, np.int8)
    path = file_of(tmp_path / "broken.tflite", (4, 4), values, sparsity)
    model = TfliteModel(path)
    with pytest.raises(sp.BadInput, match="is sparse in a way that is broken") as refused:
        model.outputs(model.input_values([np.zeros((4, 4), np.int8)]))
    assert says in str(refused.value)


def test_more_elements_than_any_weight_has(tmp_path: Path) -> None:
    shape = (2**15, 2**15)
    path = file_of(tmp_path / "huge.tflite", shape, np.ones(1, np.int8), ((0, 1), (), (1, 1)))
    file = read_tflite(path)
    with pytest.raises(sp.BadInput, match="1,073,741,824 elements, more than"):
        file.numbers(file.subgraphs[0].tensors[1])


def test_of_a_few_elements_no_more_places_are_made_than_there_are() -> None:
    """Dense levels alone give as many places as the shape has: here 2 GiB of numbers for four."""
    from planners.importers.tflite.sparse import Level, Sparsity, dense

    how = Sparsity((0, 1), (), (Level(2**14), Level(2**14)))
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="16384 times 16384 places"):
            dense(np.ones(4, np.int8), (2**14, 2**14), how)
        with pytest.raises(sp.BadInput, match="a sparse constant: reading it takes about 2,147,"):
            dense(np.ones(4, np.float64), (2**14, 2**14), how)
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()
