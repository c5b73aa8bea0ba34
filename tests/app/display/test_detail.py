"""Level of detail is honest: what is large is shown, and what is merged adds up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from app.display.detail import Boxes, Detail, Sight, detailed

KINDS = 4


def random_boxes(rng: Any, count: int, steps: int, size: int) -> Boxes:
    """Rectangles of all sizes at whole steps and addresses; some lie over each other."""
    left, bottom = rng.integers(0, steps, count), rng.integers(0, size, count)
    wide = 1 + (rng.pareto(1.0, count) * steps / 200).astype(int)
    high = 1 + (rng.pareto(1.0, count) * size / 200).astype(int)
    kind = rng.integers(0, KINDS, count)
    return Boxes(left, np.minimum(left + wide, steps + 3), bottom, bottom + high, kind)


def raster(boxes: Boxes, merged: Boxes, weights: Any) -> Any:
    """By brute force: how much of the boxes' weighted area lies in each merged rectangle."""
    found = np.zeros(len(merged))
    for i in range(len(boxes)):
        wide = np.minimum(boxes.right[i], merged.right) - np.maximum(boxes.left[i], merged.left)
        high = np.minimum(boxes.top[i], merged.top) - np.maximum(boxes.bottom[i], merged.bottom)
        found += weights[i] * np.clip(wide, 0, None) * np.clip(high, 0, None)
    return found


def area_in(boxes: Boxes, sight: Sight) -> Any:
    wide = np.minimum(boxes.right, sight.right) - np.maximum(boxes.left, sight.left)
    high = np.minimum(boxes.top, sight.top) - np.maximum(boxes.bottom, sight.bottom)
    return np.clip(wide, 0, None) * np.clip(high, 0, None)


def cases() -> list[tuple[int, int, Sight]]:
    return [
        (1, 900, Sight(0, 5000, 0, 100_000, 5000 / 120, 100_000 / 50)),
        (2, 900, Sight(700, 1900, 20_000, 61_000, 1200 / 120, 41_000 / 50)),
        (3, 400, Sight(-50, 90, -10, 120, 140 / 120, 130 / 50)),
        (4, 700, Sight(100.5, 130.25, 0, 100_000, 29.75 / 300, 100_000 / 50)),
    ]


def found_in(seed: int, count: int, sight: Sight, most: int) -> tuple[Boxes, Detail]:
    boxes = random_boxes(np.random.default_rng(seed), count, 5000, 100_000)
    if sight.right < 100:  # all that there is lies close together
        boxes = Boxes(
            *(getattr(boxes, s) % 90 for s in ("left",)),
            boxes.left % 90 + 1 + boxes.right % 9,
            boxes.bottom % 110,
            boxes.bottom % 110 + 1 + boxes.top % 5,
            boxes.kind,
        )
    return boxes, detailed(boxes, sight, most)


@pytest.mark.parametrize(("seed", "count", "sight"), cases())
@pytest.mark.parametrize("most", [60, 250])
def test_what_is_large_is_shown_and_the_rest_adds_up(
    seed: int, count: int, sight: Sight, most: int
) -> None:
    boxes, found = found_in(seed, count, sight, most)
    inside = np.flatnonzero(boxes.inside(sight))
    assert found.of == len(inside) == len(found.each) + found.merged.count.sum()
    wide, high = boxes.right - boxes.left, boxes.top - boxes.bottom
    large = (wide >= found.pixels * sight.wide) & (high >= found.pixels * sight.high)
    if found.of > most:
        assert set(found.each) == set(inside[large[inside]])
    small = boxes.at(np.setdiff1d(inside, found.each))
    merged = found.merged.boxes
    if not len(small):
        return
    for kind, covered in enumerate(found.merged.covered):
        brute = raster(small, merged, small.kind == kind)
        assert covered == pytest.approx(brute, abs=1e-6 * brute.max())
    cell = found.cell
    around = Sight(
        sight.left // cell[0] * cell[0],
        -(-sight.right // cell[0]) * cell[0],
        sight.bottom // cell[1] * cell[1],
        -(-sight.top // cell[1]) * cell[1],
        *cell,
    )
    assert found.merged.covered.sum() == pytest.approx(area_in(small, around).sum(), rel=1e-9)


@pytest.mark.parametrize(("seed", "count", "sight"), cases())
def test_a_cell_has_the_kind_that_covers_most_of_it(seed: int, count: int, sight: Sight) -> None:
    boxes, found = found_in(seed, count, sight, 100)
    inside = np.flatnonzero(boxes.inside(sight))
    small = boxes.at(np.setdiff1d(inside, found.each))
    merged, cell = found.merged.boxes, found.cell
    taken = np.zeros((0, 2))
    for m in range(len(merged)):
        xs = np.arange(round((merged.right[m] - merged.left[m]) / cell[0])) * cell[0]
        ys = np.arange(round((merged.top[m] - merged.bottom[m]) / cell[1])) * cell[1]
        x, y = (a.ravel() for a in np.meshgrid(merged.left[m] + xs, merged.bottom[m] + ys))
        cells = Boxes(x, x + cell[0], y, y + cell[1], x)
        of = [raster(small, cells, small.kind == kind) for kind in range(KINDS)]
        assert (of[merged.kind[m]] >= np.max(of, 0) - 1e-6 * cell[0] * cell[1]).all()
        taken = np.concatenate([taken, np.stack([x, y], 1)])
    assert len(np.unique(np.round(taken / cell).astype(int), axis=0)) == len(taken), "no cell twice"


def test_few_are_shown_as_they_are() -> None:
    boxes = random_boxes(np.random.default_rng(5), 40, 100, 1000)
    found = detailed(boxes, Sight(0, 100, 0, 1000, 50, 500), 40)
    assert list(found.each) == list(np.flatnonzero(boxes.inside(Sight(0, 100, 0, 1000, 1, 1))))
    assert not len(found.merged.boxes)


def test_many_stay_within_the_limit() -> None:
    boxes = random_boxes(np.random.default_rng(6), 200_000, 20_000, 2**20)
    sight = Sight(0, 20_000, 0, 2**20, 20_000 / 560, 2**20 / 230)
    found = detailed(boxes, sight, 2500)
    assert len(found.each) + len(found.merged.boxes) <= 2500
    assert len(found.each) + found.merged.count.sum() == 200_000
