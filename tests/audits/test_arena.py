"""What TensorFlow Lite Micro's arena must have: estimated beside the runtime's own record."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

import planners as sp
from planners.audits.readers import tflm_arena
from planners.audits.readers.tflm_arena import ArenaNeed, arena_need, estimated_tail_bytes
from planners.cli import main
from planners.importers.tflite.file import read_tflite
from tests.importers.tflite_models import TfliteWriter

RECORDED = {"conv": 992, "fully_connected": 912}
"""Tails that tflite-micro 0.dev20261023182759 records on x86-64."""
needs_runtime = pytest.mark.skipif(
    importlib.util.find_spec("tflite_micro") is None,
    reason="needs tflite_micro: pip install --no-deps tflite-micro==0.dev20261023182759",
)


def written(folder: Path, kind: str, channels: int = 8) -> Path:
    """A file with one operator of float32."""
    w = TfliteWriter()
    if kind == "conv":
        x, y = w.tensor((1, 8, 8, 4), name="x"), w.tensor((1, 8, 8, channels), name="y")
        reads = [x, w.weight((channels, 1, 1, 4), "float32"), w.weight((channels,))]
        w.operator("CONV_2D", reads, [y], "Conv2DOptions", StrideH=1, StrideW=1)
    else:
        x, y = w.tensor((1, 4), name="x"), w.tensor((1, channels), name="y")
        reads = [x, w.weight((channels, 4), "float32")]
        w.operator("FULLY_CONNECTED", reads, [y], "FullyConnectedOptions")
    w.inputs, w.outputs = [x], [y]
    return w.save(folder / f"{kind}{channels}.tflite")


def code_of(*arguments: str) -> object:
    """How a command ends."""
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--time-limit", "2"])
    return ended.value.code


@pytest.mark.parametrize("kind", RECORDED)
def test_the_estimate_is_near_the_record(tmp_path: Path, kind: str) -> None:
    path = written(tmp_path, kind)
    tail = estimated_tail_bytes(read_tflite(path))
    assert tail == pytest.approx(RECORDED[kind], rel=0.05)
    if kind == "conv":  # eight bytes more for each output channel
        wide = estimated_tail_bytes(read_tflite(written(tmp_path, kind, 1000)))
        assert wide - tail == pytest.approx(8 * 992, abs=16)


@needs_runtime
@pytest.mark.parametrize("kind", RECORDED)
def test_the_runtime_records_it_where_it_is_installed(tmp_path: Path, kind: str) -> None:
    path = written(tmp_path, kind)
    assert tflm_arena._measured(path) == sp.audit(path, changes=False).arena
    need = tflm_arena._measured(path)
    assert need is not None
    assert need.measured
    assert not sp.audit(path, changes=False, measure=False).arena.measured  # type: ignore[union-attr]
    assert need.runtime.startswith("tflite-micro 0.")
    assert (need.head_bytes, need.word_bits) == (sp.audit(path).peak_bytes, 64)
    assert need.tail_bytes == pytest.approx(RECORDED[kind], abs=64)


def test_what_the_arena_must_have_is_told_and_judged_where_it_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, "conv")
    head = sp.audit(path, changes=False).peak_bytes
    assert head is not None
    monkeypatch.setattr(tflm_arena, "_measured", lambda _path: None)
    need = arena_need(path, head, measure=True)
    assert not need.measured
    assert need.total_bytes == head + need.tail_bytes > head
    assert "about" in need.sentence()
    assert code_of("audit", str(path), "--max-arena", "1KiB") == 0
    said = capfd.readouterr().out
    assert "--max-arena: not checked, because the tail is only estimated" in said
    assert need.sentence() in said
    known = ArenaNeed(head, 912, "tflite-micro 0.1 on x86_64", 64, measured=True)
    monkeypatch.setattr(tflm_arena, "_measured", lambda _path: known)
    assert code_of("audit", str(path), "--max-arena", str(head + 912), "--json") == 0
    assert json.loads(capfd.readouterr().out)["arena"] == {
        "head_bytes": head, "tail_bytes": 912, "total_bytes": head + 912,
        "runtime": "tflite-micro 0.1 on x86_64", "word_bits": 64, "measured": True,
    }  # fmt: skip
    for size in (head + 911, head):
        assert code_of("audit", str(path), "--max-arena", str(size)) == 3
        assert f"{head + 912:,} bytes are more than {size:,}" in capfd.readouterr().err
    assert code_of("audit", str(path), "--max-peak", str(head)) == 0  # of the head


def test_only_that_runtime_has_a_tail(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "a.csv"
    table.write_text("id,lower,upper,size,offset\na,0,2,8,0\n", encoding="utf-8")
    assert sp.audit(table).arena is None
    assert code_of("audit", str(table), "--max-arena", "1KiB") == 2
    assert "only TensorFlow Lite Micro's arena" in capfd.readouterr().err
