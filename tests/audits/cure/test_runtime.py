"""Planned files in the runtime itself: what its arena takes, and that no output differs by a bit.

The interpreter is TensorFlow Lite Micro's with its reference kernels, as its wheel has it; each
file runs in a process of its own, since a wrong plan may end it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from planners.audits.cure.kernels import KERNELS
from planners.audits.cure.tflm import ArenaPlan, planned, written
from tests.audits.cure.networks import NETWORKS, alone, drawn
from tests.audits.cure.runtime import INPUTS, of_package, ran, too_short


@pytest.fixture(autouse=True)
def runtime() -> None:
    of_package("tflite_micro", "")


def agree(source: Path, folder: Path) -> tuple[ArenaPlan, ArenaPlan]:
    """Plans without and with overlap: the runtime's head is as said, its outputs the same."""
    plans, paths = [], []
    for overlap in (False, True):
        file, plan = planned(source, overlap=overlap)
        paths.append(folder / f"{overlap}.tflite")
        written(file, plan, paths[-1])
        plans.append(plan)
    before, plain, over = ran(source, *paths)
    assert [before["head"]] * 2 == [plan.own_bytes for plan in plans]
    assert [plain["head"], over["head"]] == [plan.head_bytes for plan in plans]
    assert len(before["outputs"]) == INPUTS
    assert plain["outputs"] == over["outputs"] == before["outputs"]
    return plans[0], plans[1]


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_of_ours(name: str, tmp_path: Path) -> None:
    plain, over = agree(NETWORKS[name]().save(tmp_path / "net.tflite"), tmp_path)
    assert over.head_bytes <= plain.head_bytes <= plain.own_bytes
    if name in ("mobilenet", "residual"):
        assert over.head_bytes < 0.8 * plain.own_bytes


@pytest.mark.parametrize("seed", range(10))
def test_drawn_networks(seed: int, tmp_path: Path) -> None:
    agree(drawn(seed, 12).save(tmp_path / "net.tflite"), tmp_path)


@pytest.mark.parametrize(
    ("package", "name", "least"),
    [
        ("tflite_micro", "python/tflite_micro/sine_float.tflite", 128),
        ("mediapipe", "modules/iris_landmark/iris_landmark.tflite", 524_416),
        ("mediapipe", "modules/holistic_landmark/hand_recrop.tflite", 1_048_608),
    ],
)
def test_models_of_packages(package: str, name: str, least: int, tmp_path: Path) -> None:
    _, over = agree(of_package(package, name), tmp_path)
    assert over.head_bytes == over.bound_bytes == least


@pytest.mark.parametrize("kind", KERNELS)
def test_each_kernel_alone(kind: str, tmp_path: Path) -> None:
    """Over its input at the least distance, in the runtime's own kernel."""
    plain, over = agree(alone(kind).save(tmp_path / "net.tflite"), tmp_path)
    assert over.overlapped == (kind,)
    assert over.head_bytes == over.bound_bytes < plain.head_bytes


@pytest.mark.parametrize("name", ["mobilenet", "residual"])
def test_shorter_distances_change_outputs(name: str, tmp_path: Path) -> None:
    """The check can fail, and the overlap is real."""
    file, plan = planned(NETWORKS[name]().save(tmp_path / "net.tflite"), overlap=True)
    wrong = too_short(file, plan)
    assert wrong.head_bytes < plan.head_bytes
    written(file, wrong, tmp_path / "wrong.tflite")
    before, after = ran(file.path, tmp_path / "wrong.tflite")
    assert after["head"] == wrong.head_bytes
    assert after["outputs"] != before["outputs"]
