"""No command writes over what it reads."""

from __future__ import annotations

from pathlib import Path

import pytest

import planners as sp
from planners.cli import main


def refused(capfd: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The one line of a command that ends with 2."""
    with pytest.raises(SystemExit) as stop:
        main([str(a) for a in arguments])
    _, err = capfd.readouterr()
    assert stop.value.code == 2, err
    return err


@pytest.mark.parametrize(
    "command",
    [
        "graph FILE --out FILE",
        "plan FILE --out FILE",
        "plan FILE --out ./sub/../net.json",
        "plan FILE --export-lp FILE",
        "plan FILE --export-mps FILE",
        "sweep FILE --out FILE",
        "sweep FILE --resume FILE",
        "calibrate --model FILE --out FILE",
        "export FILE --html FILE",
        "export FILE --steps FILE",
        "winners FILE --out FILE",
    ],
)
def test_what_is_read_is_not_written_over(
    command: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    file = tmp_path / "net.json"
    sp.load("resnet18", input_shape=(1, 3, 32, 32)).save(file)
    before = file.read_bytes()
    err = refused(capfd, *command.replace("FILE", "net.json").split())
    assert "net.json is read by this command; name another file" in err
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    "command",
    [
        "sweep resnet18 --out a.csv --resume a.csv",
        "plan resnet18 --export-lp a.csv --export-mps ./a.csv",
        "export plan.json --steps a.csv --tensors a.csv",
        "reproduce all --quick --out a.html",
    ],
)
def test_two_answers_do_not_share_a_file(
    command: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "name another file" in refused(capfd, *command.split())
    assert not list(tmp_path.iterdir())


def test_rows_are_kept_only_in_a_file_of_rows(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    notes = tmp_path / "notes.md"
    notes.write_text("# Notes\n")
    err = refused(capfd, "sweep", "resnet18", "--resume", notes)
    assert "does not hold rows of a sweep: name a new file" in err
    assert notes.read_text() == "# Notes\n"
