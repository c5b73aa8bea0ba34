"""Saved plans as C code, from Python and from the command line."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import planners as sp
from planners.cli import main
from tests.overlap.small_nets import Builder

COMPILER = shutil.which("cc")


def small_plan() -> sp.Plan:
    b = Builder((1, 3, 12, 12))
    y = b.conv(b.conv("x", 8, (3, 3), (2, 2), (1, 1), activation="relu"), 4)
    return sp.plan(b.graph(b.linear(b.global_average(y), 5)), "overlap", budget=2000)


@pytest.fixture
def plan_file(tmp_path: Path) -> Path:
    small_plan().save(tmp_path / "plan.json")
    return tmp_path / "plan.json"


def spillway(capfd: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main([str(a) for a in arguments])
    out, err = capfd.readouterr()
    return int(stop.value.code or 0), out, err


@pytest.mark.skipif(COMPILER is None or not shutil.which("make"), reason="no C compiler or make")
def test_the_program_prints_the_checksum_that_the_command_foretold(
    plan_file: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    arguments = ("code", plan_file, "--out", tmp_path / "c", "--weights", "random", "--json")
    code, out, _ = spillway(capfd, *arguments)
    facts = json.loads(out)
    assert code == 0
    assert facts["files"] == sorted(path.name for path in (tmp_path / "c").glob("[!.]*"))
    assert facts["pool_bytes"] == sp.Plan.load(plan_file).claims.objective_bytes
    command = ["make", "-s", "run", f"CC={COMPILER}"]
    done = subprocess.run(command, cwd=tmp_path / "c", capture_output=True, text=True)
    assert done.stdout == f"checksum {facts['checksum']}\n"


def test_seeds_make_other_weights(tmp_path: Path) -> None:
    plan = small_plan()
    texts = []
    for seed in (0, 0, 1):
        sp.write_code(plan, tmp_path / "c", weights="random", seed=seed)
        texts.append((tmp_path / "c" / "weights.c").read_text())
    assert texts[0] == texts[1] != texts[2]


def test_a_module_gives_its_own_weights(tmp_path: Path) -> None:
    import torch

    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Conv2d(2, 3, 3), torch.nn.ReLU()).eval()
    with torch.no_grad():
        module[0].weight.zero_()
        module[0].weight[1, 1, 2, 2] = 1.0
    inputs = (torch.randn(1, 2, 6, 6),)
    plan = sp.plan(sp.from_torch(module, inputs), "overlap", budget=2000)
    code = sp.write_code(plan, tmp_path / "c", module, inputs)
    (op,) = code.net.ops.values()
    assert op.weight is not None
    assert op.weight.reshape(3, -1).tolist()[1].count(127) == 1
    assert int(abs(op.weight.astype(int)).sum()) == 127


def test_what_cannot_be_code_is_said(
    plan_file: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, _, err = spillway(capfd, "code", plan_file, "--out", tmp_path / "c")
    assert code == 2
    assert "let the weights be random" in err
    code, _, err = spillway(capfd, "code", plan_file, "--out", tmp_path, "--weights", "random")
    assert code == 2
    assert "is not touched: " in err
    assert plan_file.exists()
    plan = sp.plan(small_plan().graph, "cosma", budget="MP")
    with pytest.raises(sp.BadInput, match="has no circular pool"):
        sp.write_code(plan, tmp_path / "c", weights="random")
    assert not (tmp_path / "c").exists()
