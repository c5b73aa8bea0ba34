"""Small files that say they are large: refused in one line, quickly and in little memory."""

from __future__ import annotations

from pathlib import Path

import pytest

import planners as sp
from planners.cli import main
from tests.fuzz import run
from tests.fuzz.large import LARGE, archives, networks, onnx_files
from tests.fuzz.run import REFUSED, RIGHT, Bounds

QUICK = Bounds(2**30, 2.0)


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    """What readers import, once: each of them runs in a process of its own."""
    for loader in LARGE:
        run.warm(loader)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
@pytest.mark.parametrize("loader", LARGE)
def test_a_small_file_that_says_it_is_large_is_refused_in_one_line(
    loader: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = list(LARGE[loader]())
    assert all(len(file) < 3_000_000 for file in files)
    monkeypatch.setattr(run, "inputs", lambda _: files)
    tally = run.run(loader, len(files), 0, QUICK, tmp_path / "failures")
    assert tally.failures == {}
    assert tally.counts[REFUSED] == len(files) - tally.counts[RIGHT]
    assert tally.counts[RIGHT] <= (1 if loader == "onnx" else 0)


def test_on_the_command_line_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {"net.pt2": next(archives()), "net.tflite": next(networks())}
    files["net.onnx"] = list(onnx_files())[1]
    for name, data in files.items():
        path = tmp_path / name
        path.write_bytes(data)
        with pytest.raises(SystemExit) as ended:
            main(["graph", str(path)])
        assert ended.value.code == 2
        said = capsys.readouterr().err.splitlines()
        assert len([line for line in said if line.startswith("spillway: ")]) == 1, said


def test_where_memory_ends_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_large(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(sp, "load", too_large)
    with pytest.raises(SystemExit) as ended:
        main(["graph", str(tmp_path / "net.onnx")])
    assert ended.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("spillway: there is not enough memory for this")
