"""Our plans in ExecuTorch's runtime, and its files read by us and by itself."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import planners as sp
from planners.audits.readers.pte import read_pte

RUNNER = Path(__file__).parent / "run_executorch.py"
ROOT = Path(__file__).parents[3]
INPUTS, FAST = 20, 9_000


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    if importlib.util.find_spec("executorch") is None:
        pytest.skip(
            "needs executorch: pip install --no-deps executorch==1.5.1 torchao==0.18.0 "
            "ruamel.yaml tabulate"
        )
    folder = tmp_path_factory.mktemp("programs")
    paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, str(RUNNER), str(folder)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": paths},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return folder, [json.loads(line) for line in done.stdout.splitlines() if line[:1] == "{"]


def test_outputs_are_the_same_to_the_bit(runs: tuple[Path, list[dict[str, Any]]]) -> None:
    assert [(run["planner"], run["same"]) for run in runs[1]] == 2 * [
        ("greedy", INPUTS),
        ("packed", INPUTS),
        ("banks", INPUTS),
    ]


def test_files_are_read_as_by_executorch(runs: tuple[Path, list[dict[str, Any]]]) -> None:
    folder, found = runs
    for run in found:
        plan = read_pte(folder / run["file"])
        read = {t.id: [int(t.memory.split()[1]), t.offset] for t in plan.tensors}
        assert read == run["places"]


def test_copies_are_called_what_they_are(runs: tuple[Path, list[dict[str, Any]]]) -> None:
    """A linear layer's weight is transposed in each run, a count's next value copied over it."""
    folder, found = runs
    for run in found:
        roles = {t.role.rsplit(" ", 1)[0] for t in read_pte(folder / run["file"]).tensors}
        assert roles - {""} in ({"a transposed copy of constant"}, {"the next content of state"})


def test_audits_find_their_peaks(runs: tuple[Path, list[dict[str, Any]]]) -> None:
    """No false conflict; the tool's own figure to the byte; ours at the proven minimum."""
    folder, found = runs
    peaks: dict[str, dict[str, int]] = {}
    for run in found:
        audit = sp.audit(folder / run["file"])
        assert not audit.broken
        assert audit.peak_bytes == sum(audit.plan.own_peak.values())
        peaks.setdefault(run["file"].split("_")[0], {})[run["planner"]] = audit.peak_bytes
        if run["planner"] == "packed":
            assert audit.proven
            assert audit.peak_bytes == audit.least_bytes
    for each in peaks.values():
        assert each["packed"] <= each["greedy"]


def test_a_small_fast_memory_is_filled(runs: tuple[Path, list[dict[str, Any]]]) -> None:
    folder, found = runs
    for run in found:
        if run["planner"] == "banks":
            plan = read_pte(folder / run["file"])
            assert plan.own_peak["memory 1"] <= FAST
            assert plan.own_peak["memory 1"] > FAST // 2
