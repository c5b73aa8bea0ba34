"""`.pt2` files: the same graph as of the module, nothing run, one exact line for what is wrong."""

from __future__ import annotations

import contextlib
import copy
import json
import pickle
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

import planners as sp
from planners.catalogue import build
from planners.importers.pt2 import file as pt2_file
from tests.importers.few_blocks import few_blocks
from tests.importers.once import ExportedOnce

PROGRAM = "net/models/model.json"
Change = Callable[[dict[str, Any]], Any]


class Net(nn.Module):
    """In-place, split, a buffer that is not saved, several outputs, one of them a view."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.linear = nn.Linear(8, 4)
        self.register_buffer("scale", torch.ones(8), persistent=False)

    def forward(self, x: Any) -> Any:
        y = torch.relu_(self.norm(self.conv(x)))
        a, b = torch.split(y, [3, 5], 1)
        y = torch.cat([b, a], 1) * self.scale.view(1, -1, 1, 1)
        largest, _ = y.max(1)
        return self.linear(y.mean((2, 3))), y[:, 0] + largest


def saved(module: nn.Module, inputs: tuple[Any, ...], path: Path, **options: Any) -> Path:
    """A module as `torch.export.save` writes it."""
    torch.export.save(torch.export.export(module.eval(), inputs, **options), path)
    return path


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(Net(), (torch.ones(1, 3, 16, 16),), tmp_path_factory.mktemp("pt2") / "net.pt2")


def changed(net: Path, target: Path, change: Change) -> Path:
    """The same archive with another program."""
    with zipfile.ZipFile(net) as old, zipfile.ZipFile(target, "w") as new:
        for entry in old.infolist():
            data = old.read(entry)
            if entry.filename == PROGRAM:
                program = json.loads(data)
                program = change(program) or program
                data = json.dumps(program).encode()
            new.writestr(entry.filename, data)
    return target


def plain(graph: sp.Graph) -> dict[str, Any]:
    """A graph's JSON but for where it is from."""
    return {**graph.with_bytes_per_element("native").to_json(), "source": {}}


@pytest.mark.parametrize("granularity", ["aten", "folded", "fused"])
def test_a_file_gives_the_graph_of_its_module(net: Path, granularity: str) -> None:
    inputs = (torch.ones(1, 3, 16, 16),)
    whole = sp.from_torch(Net(), inputs, name="net", granularity=granularity)
    assert plain(sp.from_pt2(net, granularity=granularity)) == plain(whole)


def torchvisions(name: str) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """A model of the catalogue, or one of its kind with few and narrow blocks."""
    if name == "a few blocks of shufflenet":
        return few_blocks("shufflenet"), (torch.ones(1, 3, 64, 64),)
    return build(sp.load(name).source)


@pytest.mark.parametrize(
    "name",
    [
        "a few blocks of shufflenet",
        "squeezenet1_1",
        pytest.param("mobilenet_v2", marks=pytest.mark.long),
        pytest.param("shufflenet_v2_x0_5", marks=pytest.mark.long),
    ],
)
def test_torchvisions_models_come_back_as_they_were(name: str, tmp_path: Path) -> None:
    module, inputs = torchvisions(name)
    path = saved(module, inputs, tmp_path / "net.pt2", strict=False)
    whole = ExportedOnce(module, inputs)
    for granularity in ("aten", "fused"):
        theirs = {**plain(whole.graph(granularity)), "name": "net"}
        assert plain(sp.load(path, granularity=granularity)) == theirs


def test_values_may_have_the_names_of_pythons_builtins(tmp_path: Path) -> None:
    class Builtins(nn.Module):
        def forward(self, input: Any, max: Any, len: Any = None) -> Any:
            return torch.split(input.sum(1), 2)[0], input.amax(1), max.min()

    shape = torch.ones(4, 3, 2)
    for module, inputs in (
        (nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU()), (torch.ones(1, 3, 8, 8),)),
        (Builtins(), (shape, shape)),
    ):
        path = saved(module, inputs, tmp_path / "net.pt2")
        assert plain(sp.from_pt2(path)) == plain(sp.from_torch(module, inputs, name="net"))


def test_a_graph_of_a_file_can_be_planned_and_saved(net: Path, tmp_path: Path) -> None:
    graph = sp.load(str(net), bytes_per_element=2)
    assert graph.bytes_per_element == 2
    graph.save(tmp_path / "graph.json")
    assert sp.Graph.load(tmp_path / "graph.json").digest == graph.digest
    assert sp.check(sp.plan(graph, budget="MP")).noncompulsory_bytes == 0


def test_the_shapes_are_those_of_the_file(net: Path) -> None:
    assert sp.from_pt2(net, (1, 3, 16, 16)).source["input_shape"] == [[1, 3, 16, 16]]
    with pytest.raises(sp.BadInput, match="axis 0 of x is 2, and it was exported for 1 alone"):
        sp.from_pt2(net, [[2, 3, 16, 16]])


def test_weights_and_pickles_are_never_opened(net: Path, tmp_path: Path) -> None:
    poison = tmp_path / "net.pt2"
    with zipfile.ZipFile(net) as old, zipfile.ZipFile(poison, "w") as new:
        for entry in old.infolist():
            data = old.read(entry) if entry.filename == PROGRAM else b"cos\nsystem\n(S'exit 1'\ntR."
            new.writestr(entry.filename, data)
    assert plain(sp.from_pt2(poison)) == plain(sp.from_pt2(net))


class Watch(TorchDispatchMode):
    """Operators that are called, described or done."""

    def __init__(self) -> None:
        super().__init__()
        self.called: set[str] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.called.add(str(func))
        return func(*args, **(kwargs or {}))


HEARD: set[str] = set()


@pytest.fixture(scope="module")
def audited() -> set[str]:
    """What Python tells of itself: a hook cannot be taken back, so there is one."""
    sys.addaudithook(lambda event, args: HEARD.add(event))
    return HEARD


def test_a_file_imports_no_unpickler_and_calls_no_operator(net: Path, audited: set[str]) -> None:
    pickle.loads(pickle.dumps(Path))
    assert "pickle.find_class" in audited  # The hook hears.
    audited.clear()
    with Watch() as watch:
        sp.from_pt2(net)
    assert watch.called == {"aten.empty_strided.default"}  # descriptions, on `meta`
    assert not audited & {"pickle.find_class", "os.system"}


def _node(program: dict[str, Any], index: int) -> Any:
    return program["graph_module"]["graph"]["nodes"][index]


def _set_size(program: dict[str, Any], size: Any) -> None:
    program["graph_module"]["graph"]["tensor_values"]["x"]["sizes"][0] = size


def _target(program: dict[str, Any], target: Any) -> None:
    _node(program, 0)["target"] = target


def _cycle(program: dict[str, Any]) -> None:
    _node(program, 0)["inputs"][0]["arg"] = {"as_tensor": {"name": "linear"}}


def _twice(program: dict[str, Any]) -> None:
    nodes = program["graph_module"]["graph"]["nodes"]
    nodes.append(copy.deepcopy(nodes[0]))


WRONG: dict[str, tuple[Change, str]] = {
    "no program": (lambda p: {"a": 1}, "no exported program"),
    "a list": (lambda p: [1], "no exported program"),
    "another layout": (lambda p: p.update(schema_version={"major": 99}), "with layout 99"),
    "no layout": (lambda p: p.pop("schema_version") and None, "with layout None"),
    "no nodes": (lambda p: p["graph_module"]["graph"].pop("nodes") and None, "malformed: KeyError"),
    "nodes of numbers": (lambda p: p["graph_module"]["graph"].update(nodes=[1]), "malformed"),
    "a huge dimension": (lambda p: _set_size(p, {"as_int": 10**18}), "a size of"),
    "many elements": (lambda p: _set_size(p, {"as_int": 10**13}), "elements"),
    "a negative dimension": (lambda p: _set_size(p, {"as_int": -1}), "a size of -1"),
    "a dimension of NaN": (lambda p: _set_size(p, {"as_int": float("nan")}), "a size of nan"),
    "a formula": (
        lambda p: _set_size(p, {"as_expr": {"expr_str": "__import__('os').abort()"}}),
        "not known among sizes",
    ),
    "a function of ours": (lambda p: _target(p, "os.system"), "'os.system', which is not ATen's"),
    "a function of torch": (lambda p: _target(p, "torch.hub.load"), "not ATen's"),
    "an attribute": (lambda p: _target(p, "torch.ops.aten.__init__.__call__"), "does not have"),
    "a new operator": (lambda p: _target(p, "torch.ops.aten.frobnicate.default"), "not have"),
    "a number": (lambda p: _target(p, 7), "not ATen's"),
    "a cycle": (_cycle, "malformed: KeyError: 'linear'"),
    "a name twice": (_twice, "there twice"),
    "a hostile name": (
        lambda p: p["graph_module"]["graph"]["inputs"].append(
            {"as_tensor": {"name": "x; import os"}}
        ),
        "malformed|no name",
    ),
    "an unknown type": (
        lambda p: p["graph_module"]["graph"]["tensor_values"]["x"].update(dtype=99),
        "unknown type 99",
    ),
}


@pytest.mark.parametrize("how", WRONG)
def test_what_is_wrong_is_one_line(net: Path, tmp_path: Path, how: str) -> None:
    change, line = WRONG[how]
    path = changed(net, tmp_path / "wrong.pt2", change)
    with pytest.raises(sp.SpillwayError, match=line) as found:
        sp.from_pt2(path)
    assert "\n" not in str(found.value)
    assert len(str(found.value)) < 400 + len(str(path))


@pytest.mark.parametrize(
    ("data", "line"),
    [(b"", "not a zip"), (b"\x80\x04.", "not a zip"), (b"PK\x03\x04" + b"\0" * 99, "not a zip")],
)
def test_what_is_no_archive_is_said(tmp_path: Path, data: bytes, line: str) -> None:
    path = tmp_path / "m.pt2"
    path.write_bytes(data)
    with pytest.raises(sp.BadInput, match=line):
        sp.from_pt2(path)


def test_a_file_cut_short_or_missing_is_said(net: Path, tmp_path: Path) -> None:
    path = tmp_path / "m.pt2"
    path.write_bytes(net.read_bytes()[:-3000])
    with pytest.raises(sp.BadInput, match="cut short"):
        sp.from_pt2(path)
    with pytest.raises(sp.BadInput, match="cannot read"):
        sp.from_pt2(tmp_path / "none.pt2")


@pytest.mark.parametrize(
    ("names", "line"),
    [
        (["a/models/x.json", "a/models/y.json"], "2 models"),
        (["a/data.pkl"], "pickled or TorchScript"),
        (["readme"], "no program"),
    ],
)
def test_an_archive_of_another_kind_is_said(tmp_path: Path, names: list[str], line: str) -> None:
    path = tmp_path / "m.pt2"
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, "{}")
    with pytest.raises(sp.BadInput, match=line):
        sp.from_pt2(path)


def test_every_byte_of_an_archive_may_be_wrong(tmp_path: Path) -> None:
    """Each byte changed in several ways, and each length: read or refused, and nothing else."""
    path, program = tmp_path / "x.pt2", {"graph_module": {}, "schema_version": {"major": 8}}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("é/models/model.json", json.dumps(program))
        archive.writestr("é/data/weights/w", bytes(9))
    data, right = path.read_bytes(), 0
    broken = [data[:length] for length in range(len(data))]
    for at, byte in enumerate(data):
        for other in {0, 1, 127, 128, 255, byte ^ 1, byte ^ 8, byte ^ 128}:
            broken.append(data[:at] + bytes([other]) + data[at + 1 :])
    for each in broken:
        path.write_bytes(each)
        with contextlib.suppress(sp.BadInput):
            right += pt2_file.read_pt2(path) == program
    assert 1000 < right < len(broken) // 2


def test_a_zip_bomb_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pt2_file, "LARGEST_PROGRAM", 10**6)
    path = tmp_path / "m.pt2"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/models/model.json", b" " * 10**7)
    with pytest.raises(sp.BadInput, match="more than 1000000 bytes when unpacked"):
        sp.from_pt2(path)


@pytest.mark.parametrize("text", ["[" * 10**5, "{", '{"a": NaN', "\udcff"])
def test_a_program_that_is_no_json_is_said(tmp_path: Path, text: str) -> None:
    path = tmp_path / "m.pt2"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a/models/model.json", text.encode("utf-8", "surrogateescape"))
    with pytest.raises(sp.BadInput, match="not JSON"):
        sp.from_pt2(path)
