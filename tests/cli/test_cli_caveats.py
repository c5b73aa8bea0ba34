"""What is not known of a network is said by every command that gives its numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planners.cli import main
from tests.importers.onnx_models import model, node, value, write

KEYS = {"notes", "opaque_operators", "uncounted_operators"}
COMMANDS = ("budgets MODEL", "graph MODEL --out out.json", "plan MODEL --budget MP")


def answer(capfd: pytest.CaptureFixture[str], text: str, network: object) -> str:
    """What a command prints of a network."""
    with pytest.raises(SystemExit) as stop:
        main([str(network) if word == "MODEL" else word for word in text.split()])
    out, err = capfd.readouterr()
    assert not stop.value.code, err
    return out


@pytest.fixture
def twisted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A network with an operator that nobody knows."""
    monkeypatch.chdir(tmp_path)
    nodes = [node("Twist", "x", "t", domain="my.own"), node("Relu", "t", "y")]
    shown = [value("t", [2, 4])]
    return write(model(nodes, {"x": [2, 4]}, {"y": None}, value_info=shown), tmp_path)


@pytest.mark.parametrize("command", COMMANDS)
def test_opaque_operators(command: str, twisted: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = answer(capfd, command, twisted)
    assert "note: 1 operator is opaque, read" in text
    assert "t (my.own.Twist)" in text
    facts = json.loads(answer(capfd, f"{command} --json", twisted))
    assert {key: facts[key] for key in KEYS} == {
        "notes": [],
        "opaque_operators": ["t"],
        "uncounted_operators": [],
    }


@pytest.mark.parametrize("command", COMMANDS[:2])
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("quantized_resnet18", "note: the float model that is quantised"),
        ("ssd300_vgg16", "non-maximum suppression depend on the data and are left out"),
        ("raft_small", "note: 48 operators are counted with 0 MACs"),
    ],
)
def test_what_catalogue_models_leave_out(
    name: str,
    words: str,
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert words in answer(capfd, command, name)
    facts = json.loads(answer(capfd, f"{command} --json", name))
    assert facts["notes"] or facts["uncounted_operators"]
