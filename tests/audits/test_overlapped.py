"""Files whose plan overlaps by right: no conflicts, unless the file does not say for whom it is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import planners as sp
from planners.audits.cure.metadata import with_metadata
from planners.audits.cure.tflm import ASSUMPTION, metadata_of, planned, written
from planners.audits.readers.tflm import METADATA
from planners.importers.tflite.file import read_tflite
from tests.importers.tflite_models import TfliteWriter


def network(tmp_path: Path) -> Path:
    """Three maps of the same size, one after the other."""
    w = TfliteWriter()
    at = w.tensor((1, 8, 8, 16), "int8", name="in", scale=0.5)
    w.inputs = [at]
    for name in ("a", "b"):
        to = w.tensor((1, 8, 8, 16), "int8", name=name, scale=0.5)
        at = w.operator("RELU", [at], [to])
    end = w.tensor((1, 4, 4, 16), "int8", name="end", scale=0.5)
    pool = {"FilterWidth": 2, "FilterHeight": 2, "StrideW": 2, "StrideH": 2, "Padding": 1}
    w.outputs = [w.operator("MAX_POOL_2D", [at], [end], "Pool2DOptions", **pool)]
    return w.save(tmp_path / "net.tflite")


def overlapped(tmp_path: Path) -> Path:
    file, plan = planned(network(tmp_path), overlap=True)
    assert plan.overlapped
    written(file, plan, tmp_path / "planned.tflite")
    return tmp_path / "planned.tflite"


def test_what_we_write_is_at_its_minimum(tmp_path: Path) -> None:
    before = sp.audit(network(tmp_path))
    assert before.peak_bytes == 2048
    by_change = {gain.change: gain.extent_bytes for gain in before.gains}
    found = sp.audit(overlapped(tmp_path))
    assert not found.broken
    assert found.peak_bytes == found.least_bytes == by_change["overlap"] < 2048
    assert found.floor_bytes <= found.least_bytes
    assert found.proven
    assert "reference kernels alone" in found.plan.notes[-1]
    assert "live at once" not in found.sentence()


def with_plan(tmp_path: Path, entries: dict[str, bytes]) -> Path:
    path = network(tmp_path)
    path.write_bytes(with_metadata(read_tflite(path), entries, without=set()))
    return path


@pytest.mark.parametrize("said", [True, False])
def test_too_short_a_distance_or_nothing_said_is_a_conflict(said: bool, tmp_path: Path) -> None:
    file, plan = planned(network(tmp_path), overlap=True)
    entries = metadata_of(file, plan)
    if said:  # The pool's output begins behind its input: what it writes is still to be read.
        offsets = np.frombuffer(entries[METADATA], "<i4").copy()
        offsets[3 + 3] = offsets[3 + 2] + 256
        entries[METADATA] = offsets.tobytes()
    else:
        del entries[ASSUMPTION]
    found = sp.audit(with_plan(tmp_path, entries))
    assert found.broken
    assert "share" in found.sentence()
