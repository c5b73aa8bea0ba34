"""Names, shapes and files: what loads, and what is said of what does not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from planners.catalogue import build, load, models
from planners.catalogue.loading import trace
from planners.catalogue.names import default_inputs, shipped_file
from planners.catalogue.ship import FOLDER, SHIPPED
from planners.core.errors import BadInput, Cancelled, SpillwayError, UnknownName


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own."""
    monkeypatch.setenv("SPILLWAY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_the_names_are_torchvisions_and_our_own() -> None:
    from planners.catalogue.torch_models import _import_torchvision

    theirs, ours = models()[:121], models()[121:]
    assert theirs == sorted(_import_torchvision().list_models())
    mcunets = [f"mcunet_{name}" for name in ("vww1", "in0", "in1", "in2", "in3", "in4")]
    assert ours == [
        "amoebanet_d",
        "darknet_densenet201",
        "darknet_resnet152",
        "darts",
        *mcunets,
        "transformer",
        "yolov3",
        "yolov4",
        "yolov4_p6",
    ]


@pytest.mark.parametrize("step", [9, pytest.param(1, marks=pytest.mark.long)])
def test_shipped_models_load_without_torch(step: int) -> None:
    """Every ninth of them, or all."""
    code = (
        "import sys; from planners.catalogue import load\n"
        "from planners.catalogue.ship import SHIPPED\n"
        f"some = SHIPPED[::{step}]\n"
        "how = ('input_shape', 'granularity', 'fold_padding')\n"
        "graphs = [load(n, **dict(zip(how, asked))) for n, *asked in some]\n"
        "assert not {'torch', 'timm', 'panel'} & sys.modules.keys()\n"
        "print(sum(len(graph.operators) for graph in graphs))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 1000


@pytest.mark.parametrize(
    ("name", "granularity"),
    [
        ("alexnet", "fused"),
        ("resnet18", "folded"),
        pytest.param("resnet18", "fused", marks=pytest.mark.long),
        pytest.param("mobilenet_v2", "folded", marks=pytest.mark.long),
        pytest.param("ssd300_vgg16", "fused", marks=pytest.mark.long),
    ],
)
def test_shipped_graphs_are_what_is_imported(name: str, granularity: Any) -> None:
    assert load(name, granularity=granularity) == trace(name, default_inputs(name), granularity)


def test_every_shipped_file_is_listed() -> None:
    files = {path.name for path in FOLDER.iterdir()}
    assert files == {shipped_file(*entry) for entry in SHIPPED}


def test_shape_granularity_and_width() -> None:
    graph = load("squeezenet1_1", input_shape=(2, 3, 64, 96), bytes_per_element=4)
    assert graph.tensors["x"].shape == (2, 3, 64, 96)
    assert graph.size_bytes("x") == 4 * 2 * 3 * 64 * 96
    assert graph.source == {"catalogue": "squeezenet1_1", "input_shape": [[2, 3, 64, 96]]}
    again = load("squeezenet1_1", input_shape=[[2, 3, 64, 96]])
    assert again.with_bytes_per_element(4) == graph
    assert len(load("squeezenet1_1", granularity="aten").operators) > len(graph.operators)


@pytest.mark.parametrize(
    ("name", "shape", "says"),
    [
        ("resnet18", (1, 3, 224), "resnet18 takes 1x3x224x224, not 1x3x224"),
        ("resnet18", (), "resnet18 takes 1x3x224x224"),
        ("resnet18", "1x3x224x224", "resnet18 takes 1x3x224x224"),
        ("resnet18", (1, 3, 0, 224), "whole numbers above zero"),
        ("resnet18", (1, 3, 2.0, 224), "whole numbers above zero"),
        ("resnet18", (1, 3, 10**6, 10**6), "elements"),
        ("resnet18", [(1, 3, 32, 32)] * 2, "not 1x3x32x32 and 1x3x32x32"),
        ("resnet18", (1, 4, 64, 64), "cannot take the input 1x4x64x64: .*4 channels"),
        ("alexnet", (1, 3, 8, 8), "cannot take the input 1x3x8x8"),
        ("vit_b_16", (1, 3, 100, 100), "cannot take the input 1x3x100x100"),
    ],
)
def test_bad_shapes(name: str, shape: Any, says: str) -> None:
    with pytest.raises(BadInput, match=says) as caught:
        load(name, input_shape=shape)
    assert "\n" not in str(caught.value)


def test_unknown_names() -> None:
    with pytest.raises(UnknownName, match="did you mean 'resnet50'") as caught:
        load("resnet51")
    assert caught.value.nearest[0] == "resnet50"
    with pytest.raises(UnknownName, match="did you mean 'timm:nasnetalarge'"):
        load("timm:nasnetalarg")
    for wrong in ({"granularity": "coarse"}, {"bytes_per_element": 0}):
        with pytest.raises(BadInput):
            load("resnet18", **wrong)  # type: ignore[arg-type]


def test_timm_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(BadInput, match=r"needs timm: pip install timm"):
        load("timm:resnet10t")


def test_files(tmp_path: Path) -> None:
    graph = load("resnet18")
    path = tmp_path / "graph.json"
    path.write_text(json.dumps(graph.to_json()))
    assert load(path) == load(str(path)) == graph
    assert load(path, bytes_per_element=2) == graph.with_bytes_per_element(2)
    with pytest.raises(BadInput, match="its own input shape"):
        load(path, input_shape=(1, 3, 64, 64))
    path.write_text("[1, 2")
    with pytest.raises(BadInput, match="not JSON"):
        load(path)


@pytest.mark.parametrize("name", ["m.pt2", "m.onnx", "missing.cfg", "missing.json", "./missing"])
def test_files_that_do_not_load(name: str, tmp_path: Path) -> None:
    (tmp_path / "m.pt2").write_bytes(b"\x80\x04.")
    with pytest.raises(BadInput) as caught:
        load(f"{tmp_path}/{name}")
    assert "\n" not in str(caught.value)


def test_progress_can_stop_an_import() -> None:
    stages: list[str] = []
    small = (1, 3, 64, 64)
    load("alexnet", input_shape=small, progress=lambda moment: stages.append(moment.stage))
    assert stages == ["build", "trace"]
    with pytest.raises(Cancelled):
        load("vgg11", input_shape=small, progress=lambda moment: False)


@pytest.mark.parametrize(
    "name", ["mcunet_vww1", pytest.param("mobilenet_v3_small", marks=pytest.mark.long)]
)
def test_build_is_random_finite_and_repeatable(name: str) -> None:
    import torch

    source = {"catalogue": name, "input_shape": [[1, 3, 64, 64]]}
    module, inputs = build(source, seed=3)
    again, same = build(source, seed=3)
    assert not module.training
    with torch.no_grad():
        found = module(*inputs)
        assert torch.equal(found, again(*same))
        assert found.isfinite().all()
        assert found.std() > 1e-3
    assert not torch.equal(inputs[0], build(source, seed=4)[1][0])
    assert all(value.unique().numel() > 1 for value in module.parameters())
    assert not any(value.requires_grad for value in module.parameters())


@pytest.mark.parametrize("source", [{}, {"catalogue": "resnet18"}, {"catalogue": 1}])
def test_build_needs_a_catalogue_source(source: dict[str, Any]) -> None:
    with pytest.raises(SpillwayError):
        build(source)


def test_files_of_other_kinds_are_named_as_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("picture.png", "weights.pth", "table.csv"):
        Path(name).write_bytes(b"\x80\x02}q\x00.")
        for given in (name, f"./{name}", tmp_path / name):
            with pytest.raises(BadInput, match=r"is not a model file: graphs \(\.json\), \.onnx"):
                load(given)
    with pytest.raises(BadInput, match=r"pickled is not loaded: torch\.export\.save writes"):
        load("weights.pth")
    Path("mobilenet_v2").write_text("no model of torchvision's")
    assert load("mobilenet_v2").name == "mobilenet_v2"
    with pytest.raises(UnknownName, match=r"unknown model 'absent\.png'"):
        load("absent.png")
