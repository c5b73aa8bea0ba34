"""What `execute` gives for `.tflite` files, beside the runtime: the same bytes.

Whole files with each kernel, and plans that run with the file's own weights in a small arena.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

import planners as sp
from planners.audits.cure.kernels import KERNELS
from planners.importers.tflite.source_model import TfliteModel
from tests.audits.cure.networks import NETWORKS, alone, drawn
from tests.audits.cure.runtime import of_package, ran
from tests.importers.tflite_models import TfliteWriter

WHOLE = [name for name in NETWORKS if name != "recurrent"]
"""Of the float LSTM the last bit of `tanhf` is the C library's own."""


@pytest.fixture(autouse=True)
def runtime() -> None:
    of_package("tflite_micro", "")


def digest(outputs: list[np.ndarray]) -> str:
    return hashlib.sha256(b"".join(value.tobytes() for value in outputs)).hexdigest()


def computed(path: Path, inputs: int) -> list[str]:
    """Digests of what our kernels give for the inputs that the runtime is given."""
    model, rng = TfliteModel(path), np.random.default_rng(0)
    known = (model.input_values(model.random_inputs(rng)) for _ in range(inputs))
    return [digest(list(model.outputs(values))) for values in known]


@pytest.mark.parametrize("name", WHOLE)
def test_networks_of_ours(name: str, tmp_path: Path) -> None:
    path = NETWORKS[name]().save(tmp_path / "net.tflite")
    (told,) = ran(path, inputs=20)
    assert computed(path, 20) == told["outputs"]


def test_drawn_networks(tmp_path: Path) -> None:
    paths = [drawn(seed, 12).save(tmp_path / f"{seed}.tflite") for seed in range(20)]
    for path, told in zip(paths, ran(*paths, inputs=3), strict=True):
        assert computed(path, 3) == told["outputs"]


def test_each_kernel_alone(tmp_path: Path) -> None:
    kinds = [kind for kind in KERNELS if kind != "RESHAPE"]
    paths = [alone(kind).save(tmp_path / f"{kind}.tflite") for kind in kinds]
    told = ran(*paths, inputs=5)
    assert len(told) > 15
    for kind, path, own in zip(kinds, paths, told, strict=True):
        assert computed(path, 5) == own["outputs"], kind


@pytest.mark.parametrize("kind", ["LOGISTIC", "TANH"])
def test_curves_of_16_bits(kind: str, tmp_path: Path) -> None:
    """The runtime's table, place by place: steps of a power of two, and others."""
    paths = []
    for scale in (2.0**-12, 2.0**-12 * 0.7):
        w = TfliteWriter()
        x = w.tensor((1, 2**16), "int16", scale=scale)
        y = w.tensor((1, 2**16), "int16", scale=2.0**-15)
        w.inputs, w.outputs = [x], [w.operator(kind, [x], [y])]
        paths.append(w.save(tmp_path / f"{scale}.tflite"))
    for path, told in zip(paths, ran(*paths, inputs=3), strict=True):
        assert computed(path, 3) == told["outputs"]


@pytest.mark.parametrize(
    ("package", "name"),
    [
        ("tflite_micro", "python/tflite_micro/sine_float.tflite"),
        ("mediapipe", "modules/iris_landmark/iris_landmark.tflite"),
        ("mediapipe", "modules/holistic_landmark/hand_recrop.tflite"),
    ],
)
def test_models_of_packages(package: str, name: str) -> None:
    """Float32 too: sums are rounded in the runtime's order."""
    path = of_package(package, name)
    (told,) = ran(path, inputs=3)
    assert computed(path, 3) == told["outputs"]


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("planner", ["cosma", "fusion", "overlap"])
def test_plans(name: str, planner: str, tmp_path: Path) -> None:
    path = NETWORKS[name]().save(tmp_path / "net.tflite")
    plan = sp.plan(sp.load(path), planner, "8KiB", time_limit=2)
    (told,) = ran(path, inputs=1)
    assert digest(list(sp.execute(plan, path).outputs)) == told["outputs"][0]
