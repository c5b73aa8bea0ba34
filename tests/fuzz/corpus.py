"""The inputs that all others are made of: small files of each kind, kept in `corpus/`.

`python -m tests.fuzz.corpus` writes them anew, from our own graphs and plans.
"""

from __future__ import annotations

import base64
import gzip
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent / "corpus"
DATA = Path(__file__).parents[1] / "audits" / "data"
GONE = ("stack_trace", "source_fn_stack", "nn_module_stack", "torch_fn")
LINKS = (
    "v=2&model=squeezenet1_1&planner=cosma&budget=512KiB&cosma.schedule=joint&time_limit=5",
    "v=2&model=alexnet&machine=npu_small&machine_fields=macs_per_s=1&expanded=[]&selection=conv",
    "v=1&model=ResNet50&schedule=mpmf&break_nodes=[]&solver=cbc&joint=1&slices=4",
    "model=ResNet50&shape=1x3x64x64&budget=256KiB&planner=fusion&bytes=1",
    'v=2&pinned={"planner":"overlap"}&wishes=keep x&streaming.ring=64KiB&weights=counted',
)
COMMANDS = (
    "plan net.json --budget MR --planner cosma --machine machine.toml --out plan.json --json",
    "plan net.json --budget 64 --planner fusion --time-limit 1 --parameters",
    "plan net.json --budget MP --planner overlap --bytes-per-element 2 --weights counted",
    "pack rows.csv --capacity 64 --time-limit 1 --out rows.csv",
    "apply plan.json net.json --out other.json",
    "audit rows.csv --time-limit 1 --json",
    "blame rows.csv --limit 32 --json",
    "export plan.json --out page.html",
    "code plan.json --out folder --weights random",
    "headroom net.json --budget 64 --json",
    "schedule net.json --method mpmf --json",
    "sweep net.json --budgets MR,MP --planner cosma --time-limit 1 --resume rows.jsonl",
)


def small_plans() -> Iterator[tuple[str, Any]]:
    """A plan of each planner for small graphs."""
    import planners as sp
    from tests.random_graphs import random_graph

    yield "whole", sp.plan(random_graph(1, 4), budget="MR")
    net = sp.load("squeezenet1_1", input_shape=(1, 3, 33, 33))
    graph = sp.Graph.from_json(_first(net.to_json(), 3))
    for planner, budget in (("fusion", "8KiB"), ("streaming", "1MiB")):
        yield planner, sp.plan(graph, planner, budget, time_limit=5)


def _first(data: Any, count: int) -> Any:
    """A graph's JSON cut behind its first operators."""
    data = {**data, "operators": data["operators"][:count]}
    text = json.dumps(data["operators"])
    data["tensors"] = [t for t in data["tensors"] if json.dumps(_name(t)) in text]
    data["outputs"] = list(data["operators"][-1]["outputs"])
    return data


def _name(tensor: Any) -> Any:
    return tensor["name"] if isinstance(tensor, dict) else tensor[0]


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _plan(_: Path) -> dict[str, bytes]:
    return {f"{name}.json": _json(plan.to_json()) for name, plan in small_plans()}


def _graph(_: Path) -> dict[str, bytes]:
    return {f"{name}.json": _json(plan.graph.to_json()) for name, plan in small_plans()}


def _page(_: Path) -> dict[str, bytes]:
    held = base64.b64encode(gzip.compress(_json(next(small_plans())[1].to_json()), mtime=0))
    script = b'<script type="application/gzip" id="spillway-plan">' + held + b"</script>"
    return {"whole.html": b"<!doctype html><title>plan</title>" + script}


def _cache(_: Path) -> dict[str, bytes]:
    from planners.catalogue.cache import encode

    return {"graph.gz": encode(next(small_plans())[1].graph)}


def _result(_: Path) -> dict[str, bytes]:
    from app.jobs.results import FORMAT

    head = json.dumps({"format": FORMAT, "took_s": 1.0, "at": 2.0, "lines": 2})
    lines = [head, '{"kind":"progress"}', '{"kind":"result"}']
    return {"answer.gz": gzip.compress("\n".join(lines).encode(), mtime=0)}


def _onnx(folder: Path) -> dict[str, bytes]:
    import numpy as np

    from tests.importers.onnx_models import FLOAT, model, node, value

    conv = model(
        [
            node("Conv", "x w", "a", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
            node("Relu", "a", "b"),
            node("MaxPool", "b", "c", kernel_shape=[2, 2], strides=[2, 2]),
            node("Reshape", "c s", "y"),
        ],
        {"x": [1, 2, 6, 6]},
        {"y": None},
        {"w": (3, 2, 3, 3), "s": np.array([1, -1], np.int64)},
    )
    several = model(
        [
            node("Split", "x", "a b", axis=1, num_outputs=2),
            node("Shape", "a", "s"),
            node("Expand", "b s", "c"),
            node("Concat", "a c", "d", axis=1),
            node("Slice", "d from to", "e"),
            node("ConstantOfShape", "s", "z"),
            node("Add", "e z", "y"),
        ],
        {"x": [2, 4, 3]},
        {"y": [2, 2, 3]},
        {"from": np.array([0, 1], np.int64), "to": np.array([2, 3], np.int64)},
        value_info=[value("a", [2, 2, 3], FLOAT)],
    )
    return {"conv.onnx": conv.SerializeToString(), "several.onnx": several.SerializeToString()}


def _pt2(folder: Path) -> dict[str, bytes]:
    import torch
    from torch import nn

    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 2))
    folder.mkdir(parents=True, exist_ok=True)
    torch.export.save(torch.export.export(net.eval(), (torch.ones(1, 1, 4, 4),)), folder / "whole")
    with zipfile.ZipFile(folder / "whole") as old, zipfile.ZipFile(folder / "net", "w", 8) as new:
        for entry in old.infolist():
            if entry.filename.endswith(("models/model.json", "version", "archive_format")):
                data = old.read(entry)
                if entry.filename.endswith("model.json"):
                    data = _json(_without(json.loads(data)))
                new.writestr(zipfile.ZipInfo(entry.filename), data)
    data = (folder / "net").read_bytes()
    for name in ("whole", "net"):
        (folder / name).unlink()
    return {"net.pt2": data}


def _without(value: Any) -> Any:
    """Without where each operator was written, which names files of the machine."""
    if isinstance(value, dict):
        return {k: _without(v) for k, v in value.items() if k not in GONE}
    return [_without(v) for v in value] if isinstance(value, list) else value


def _tflite(_: Path) -> dict[str, bytes]:
    from tests.audits.cure.networks import branches, residual

    nets = {"residual.tflite": residual(), "branches.tflite": branches()}
    return {name: net.to_bytes() for name, net in nets.items()}


def _pte(_: Path) -> dict[str, bytes]:
    from tests.audits.readers.pte_models import chain, drawn

    return {"chain.pte": chain().to_bytes(), "drawn.pte": drawn(1)[0].to_bytes()}


def _machine(_: Path) -> dict[str, bytes]:
    from planners.core.machine import presets

    names = [name for name in presets() if "two" in name or "small" in name][:2]
    return {f"{name}.toml": presets()[name].to_toml().encode() for name in names}


def _darknet(_: Path) -> dict[str, bytes]:
    return {
        "net.cfg": b"[net]\nwidth=32\nheight=32\nchannels=3\n[convolutional]\nfilters=4\nsize=3\n"
        b"stride=1\npad=1\nactivation=leaky\n[maxpool]\nsize=2\nstride=2\n[shortcut]\nfrom=-1\n"
        b"[route]\nlayers=-1,-2\n[upsample]\nstride=2\n"
    }


def _texts(names: Mapping[str, str]) -> Callable[[Path], dict[str, bytes]]:
    return lambda _: {name: (DATA / source).read_bytes() for name, source in names.items()}


def _table(_: Path) -> dict[str, bytes]:
    rows = b"id,lower,upper,size,offset,alignment\na,0,2,16,0,4\nb,1,3,8,16,4\nc,2,4,16,0,1\n"
    return {"rows.csv": rows, "few.csv": b'id,lower,upper,size\r\n"a,b",0,2,16\r\nb,1,3,8\r\n'}


def _lines(lines: tuple[str, ...]) -> Callable[[Path], dict[str, bytes]]:
    return lambda _: {f"{k}.txt": line.encode() for k, line in enumerate(lines)}


KINDS: Mapping[str, Callable[[Path], dict[str, bytes]]] = {
    "onnx": _onnx,
    "pt2": _pt2,
    "tflite": _tflite,
    "pte": _pte,
    "darknet": _darknet,
    "machine": _machine,
    "plan": _plan,
    "graph": _graph,
    "page": _page,
    "table": _table,
    "vela": _texts(
        {"now.txt": "vela_micro_speech.txt", "before.txt": "vela_micro_speech_legacy.txt"}
    ),
    "xla": _texts({"block.txt": "xla_block-buffer-assignment.txt"}),
    "lives": _texts({"block.txt": "xla_block-live-range.txt"}),
    "cache": _cache,
    "result": _result,
    "link": _lines(LINKS),
    "command": _lines(COMMANDS),
}
"""What makes the files of each loader. Listings of other tools lie with the tests of audits."""


def inputs(loader: str) -> list[bytes]:
    """The corpus of a loader, in the order of names."""
    return [path.read_bytes() for path in sorted((HERE / loader).iterdir())]


def write() -> None:
    """Make all files anew."""
    for loader, make in KINDS.items():
        folder = HERE / loader
        for name, data in make(folder).items():
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)


if __name__ == "__main__":
    write()
