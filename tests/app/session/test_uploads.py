"""Files that a visitor brings: every kind, and one exact line for each that is wrong."""

from __future__ import annotations

import gzip
import json
import pickle
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

import pytest
from param.parameterized import discard_events

import planners as sp
from app.captions.notes import assumptions
from app.jobs.files import plain_name
from app.jobs.protocol import Request
from app.links.url import from_query, to_query
from app.model import upload_store
from app.model.upload_store import kind_of, there
from app.outputs.standalone import write_html
from app.session.session import Session
from app.views.panels.cards import badge
from tests.app.networks import beginning
from tests.app.session.test_session import settle
from tests.plans import plan_of

CFG = """[net]
height=16
width=16
channels=3

[convolutional]
filters=8
size=3
stride=1
pad=1
activation=leaky
"""
Change = Callable[[dict[str, Any]], Any]


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Uploads of this test alone."""
    monkeypatch.setenv("SPILLWAY_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def visitor(folder: Path, tracing_workers: None, fresh_pool: Any) -> Any:
    """A page, whose workers have this test's folder."""
    made = Session(fresh_pool)
    made.open({}, {})
    yield made
    made.close()


def onnx_bytes() -> bytes:
    """A convolution, as ONNX, of a batch that the file leaves open."""
    import onnx
    from onnx import TensorProto, helper

    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 16, 16])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    w = helper.make_tensor("w", TensorProto.FLOAT, [8, 3, 3, 3], [0.0] * 216)
    node = helper.make_node("Conv", ["x", "w"], ["y"], "conv", pads=[1, 1, 1, 1])
    graph = helper.make_graph([node], "net", [x], [y], [w])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    data: bytes = onnx.ModelProto.SerializeToString(model)
    return data


def graph_json() -> dict[str, Any]:
    return {**sp.load("squeezenet1_1").to_json(), "name": "mine"}


def bring(session: Session, until: Any, data: bytes, name: str) -> str:
    """Upload a file; what is said about it."""
    session.uploads.take(data, name)
    settle(session, until)
    return str(session.work.notice)


def test_a_darknet_file_becomes_a_model_with_a_shape_of_choice(
    visitor: Session, until: Any
) -> None:
    assert bring(visitor, until, CFG.encode(), "tiny.cfg") == ""
    assert visitor.problem.model == "tiny (uploaded)"
    graph = visitor.work.shown.graph
    assert (graph.name, graph.source["input_shape"]) == ("tiny", [[1, 3, 16, 16]])
    visitor.change(input_shape="2x3x32x32")
    settle(visitor, until)
    assert visitor.work.shown.graph.source["input_shape"] == [[2, 3, 32, 32]]
    visitor.change(input_shape="4", granularity="aten")
    settle(visitor, until)
    assert visitor.work.shown.graph.source["input_shape"] == [[4, 3, 16, 16]]
    assert visitor.work.shown.graph.granularity == "aten"
    before = visitor.work.shown
    visitor.change(input_shape="1x1x16x16")
    settle(visitor, until)
    assert "it has 3 channels, not 1" in visitor.work.notice
    assert "/" not in visitor.work.notice.split(":")[0]  # the file's name, not its place
    assert visitor.work.shown is before


def test_a_plan_with_measured_times_is_planned_again_with_them(
    visitor: Session, until: Any, folder: Path
) -> None:
    graph, table = sp.load("squeezenet1_1"), folder / "layers.csv"
    rows = "".join(f"{op.name},{k * 1e-4}\n" for k, op in enumerate(graph.operators, 1))
    table.write_text("layer,kernel_s\n" + rows)
    plan = sp.plan(graph, "cosma", "MR", times=table)
    assert bring(visitor, until, json.dumps(plan.to_json()).encode(), "timed.json") == ""
    assert visitor.problem.model == "squeezenet1_1 (uploaded)"
    visitor.change(budget="2 MiB")
    settle(visitor, until)
    again = visitor.work.shown.plan
    assert again.budget_bytes > plan.budget_bytes
    assert again.graph.timed_by == "table layers.csv"
    assert [op.seconds for op in again.graph.operators] == [
        op.seconds for op in plan.graph.operators
    ]


def test_times_of_layers_are_taken_for_the_network_on_screen(
    visitor: Session, until: Any, folder: Path
) -> None:
    graph = visitor.work.shown.graph
    rows = "".join(f"{op.name},{k * 1e-4}\n" for k, op in enumerate(graph.operators, 1))
    before = visitor.work.shown
    assert bring(visitor, until, f"layer,kernel_s\n{rows}x,1\n".encode(), "mine.csv").startswith(
        f"mine.csv, line {len(graph.operators) + 2}: {graph.name} has no layer 'x'"
    )
    assert visitor.work.shown is before
    assert bring(visitor, until, f"layer, kernel_s\n{rows}".encode(), "mine.csv") == ""
    plan = visitor.work.shown.plan
    assert (plan.graph.timed_by, plan.graph.name) == ("table mine.csv", graph.name)
    assert plan.graph.operators[1].seconds == 2e-4
    assert visitor.problem.model == f"{graph.name} (uploaded)"
    visitor.work.refused = ["The link's foo = '1' is unknown here."]
    large = b"layer,kernel_s\n" + b"\n" * (4 * 2**20)
    assert bring(visitor, until, large, "a.csv").startswith("times of layers have at most 4 MiB")
    assert visitor.work.refused == []
    with discard_events(visitor.problem):
        visitor.problem.model = "resnet18"  # As when it is being planned.
    assert "once the chosen one is there" in bring(visitor, until, b"layer,kernel_s\n", "a.csv")


VELA = Path(__file__).parents[2] / "audits" / "data" / "vela_micro_speech.txt"
TABLE = "id,lower,upper,size,offset\na,0,2,8,0\nb,1,3,8,16\nc,2,4,8,0\n"


@pytest.mark.parametrize(
    ("name", "data", "said", "extent"),
    [
        ("mine.csv", TABLE, "50.0% above the proven minimum", 24),
        (
            "mine.csv",
            TABLE.replace(",offset", "").replace(",0\n", "\n").replace(",16", ""),
            "no addresses",
            16,
        ),
        ("log.txt", VELA.read_text(), "at the proven minimum", 5968),
    ],
)
def test_the_plan_of_another_tool_is_judged_and_shown(
    visitor: Session, until: Any, name: str, data: str, said: str, extent: int
) -> None:
    assert bring(visitor, until, data.encode(), name) == ""
    assert visitor.work.shown.report.extent_bytes == extent
    assert said in assumptions(visitor.work.shown)
    assert badge(visitor.work.shown)[1] == "an allocation"
    assert visitor.work.budgets == {}
    visitor.change(planner="cosma", budget="MP")
    settle(visitor, until)
    assert "an allocation has no MP: type a size" in visitor.work.notice
    visitor.change(budget=str(extent))
    settle(visitor, until)
    assert visitor.work.shown.plan.planner == "cosma"
    assert visitor.work.shown.report.peak_bytes <= extent
    assert badge(visitor.work.shown)[1] != "an allocation"
    assert visitor.auditing.kind == ""


def test_a_broken_plan_of_another_tool_is_a_line(visitor: Session, until: Any) -> None:
    before = visitor.work.shown
    said = bring(visitor, until, TABLE.replace(",16", ",4").encode(), "mine.csv")
    assert "mine: CSV: broken: 2 pairs share bytes" in said
    assert visitor.work.shown is before


def test_an_onnx_file_becomes_a_model(visitor: Session, until: Any) -> None:
    before = visitor.work.shown
    said = bring(visitor, until, onnx_bytes(), "net.onnx")
    assert "type it into the field Input shape" in said  # the file leaves the batch open
    assert visitor.work.shown is before
    assert visitor.problem.model == "net (uploaded)"
    visitor.change(input_shape="1x3x16x16")
    settle(visitor, until)
    assert visitor.work.notice == ""
    assert visitor.work.shown.graph.source["input_shape"] == [[1, 3, 16, 16]]


def test_what_a_file_says_of_its_elements_stays_with_it(visitor: Session, until: Any) -> None:
    def chosen() -> tuple[Any, ...]:
        problem = visitor.problem
        return problem.model, problem.bytes_per_element, problem.granularity

    visitor.problem.param.update(bytes_per_element=2, granularity="aten")
    model, own = visitor.problem.model, chosen()[1:]
    assert "leaves 'n' (axis 0) open" in bring(visitor, until, onnx_bytes(), "net.onnx")
    visitor.change(input_shape="1x3x16x16")
    settle(visitor, until)
    file = chosen()
    assert file == ("net (uploaded)", "native", "aten")
    visitor.change(model=model, input_shape="")
    visitor.abandon()
    assert chosen() == (model, *own) == (model, 2, "aten")
    visitor.change(model=file[0], input_shape="1x3x16x16")
    settle(visitor, until)
    assert chosen() == file
    assert visitor.work.shown.graph.bytes_per_element == "native"


def test_an_upload_of_a_link_leaves_nothing_behind_for_the_catalogue(
    visitor: Session, until: Any
) -> None:
    visitor.problem.param.update(model="linked (uploaded)", bytes_per_element="native")
    assert bring(visitor, until, CFG.encode(), "tiny.cfg") == ""
    visitor.change(model="resnet18")
    visitor.abandon()
    assert visitor.problem.bytes_per_element == 1


def test_a_link_brings_an_upload_back_on_the_same_server(
    visitor: Session, fresh_pool: Any, until: Any
) -> None:
    bring(visitor, until, CFG.encode(), "tiny.cfg")
    query = dict(
        part.split("=", 1) for part in to_query(visitor.problem, visitor.look)[1:].split("&")
    )
    given = {key: unquote_plus(value) for key, value in query.items()}
    problem, look, wrong = from_query(given)
    assert wrong == []
    again = Session(fresh_pool)
    again.open(problem, look)
    settle(again, until)
    assert again.work.shown.graph.name == "tiny"
    again.change(model="squeezenet1_1")
    assert again.problem.upload == ""
    again.close()
    _, _, wrong = from_query({**given, "upload": "0" * 64 + ".cfg"})
    assert wrong == ["'tiny (uploaded)' is a file that is not on this server: upload it again."]
    assert not there("../../etc/passwd")


def test_two_files_of_one_name_are_two_models(visitor: Session, until: Any) -> None:
    bring(visitor, until, CFG.encode(), "tiny.cfg")
    bring(visitor, until, CFG.replace("filters=8", "filters=4").encode(), "tiny.cfg")
    assert visitor.problem.model == "tiny-2 (uploaded)"
    assert visitor.work.shown.graph.tensors[visitor.work.shown.graph.outputs[0]].shape[1] == 4
    bring(visitor, until, CFG.encode(), "tiny.cfg")
    assert visitor.problem.model == "tiny (uploaded)"


def test_a_page_with_a_plan_in_it_is_read(
    visitor: Session, until: Any, folder: Path, drawing: None
) -> None:
    graph = beginning("squeezenet1_1", "conv2d_1")
    write_html(plan_of(graph, budget="MP"), folder / "plan.html")
    before = visitor.work.shown
    assert bring(visitor, until, (folder / "plan.html").read_bytes(), "plan.html") == ""
    assert visitor.work.shown is not before
    assert visitor.work.shown.graph.digest == graph.digest


def changed(change: Change) -> bytes:
    data = graph_json()
    return json.dumps(change(data) or data).encode()


def cyclic(data: dict[str, Any]) -> None:
    data["operators"].reverse()


def twice(data: dict[str, Any]) -> None:
    data["operators"].append(data["operators"][0])


def wide(data: dict[str, Any]) -> None:
    data["tensors"][0][3] = [10**18, 10**18]


def negative(data: dict[str, Any]) -> None:
    data["tensors"][0][3] = [-1]


def fractional(data: dict[str, Any]) -> None:
    data["tensors"][0][3] = [1e308]


def zipped(name: str, data: bytes) -> bytes:
    from io import BytesIO

    out = BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(name, data)
    return out.getvalue()


WRONG: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "empty": ("x.json", lambda: b"", "empty"),
    "a pickle": ("x.pt", lambda: pickle.dumps({"a": 1}), "x.pt is a pickle, which cannot be read"),
    "compressed": ("x.json.gz", lambda: gzip.compress(b"{}"), "x.json.gz is compressed"),
    "noise": ("x", lambda: bytes(range(200, 256)), "x is neither UTF-8"),
    "text": ("x.txt", lambda: b"hello", "x.txt is text in an unknown format"),
    "no text": ("x.gguf", lambda: b"GGUF\3\0\0\0", "x.gguf is neither UTF-8 text"),
    "another archive": ("x.keras", lambda: zipped("a.txt", b"x"), "x.keras holds no program"),
    "a script": ("x.py", lambda: b"import os", "x.py is text in an unknown format"),
    "a table": ("x.csv", lambda: b"a,b\n1,2", "x.csv has no known columns: an allocation"),
    "half of a graph": ("x.json", lambda: changed(lambda d: None)[:5000], "x.json is not JSON"),
    "half of JSON": ("x.txt", lambda: b"{half", "x.txt is not JSON from line 1"),
    "a list": ("x.json", lambda: b"[1, 2]", "x.json is not a plan"),
    "nested": ("x.json", lambda: b"[" * 10**5, "not JSON"),
    "another format": ("x.json", lambda: b'{"format": "else"}', "not a plan"),
    "another version": ("x.json", lambda: changed(lambda d: d.update(version=99)), "version 99"),
    "no tensors": ("x.json", lambda: changed(lambda d: d.pop("tensors") and None), "tensors"),
    "a cycle": ("x.json", lambda: changed(cyclic), "malformed|before|order|writes|produced"),
    "an operator twice": ("x.json", lambda: changed(twice), "twice|two|duplicate|share|already"),
    "huge": ("x.json", lambda: changed(wide), "."),
    "negative": ("x.json", lambda: changed(negative), "malformed|shape|size"),
    "1e308": ("x.json", lambda: changed(fractional), "malformed|shape|size"),
    "cfg of nothing": ("x.cfg", lambda: b"", "empty"),
    "cfg of no net": ("x.cfg", lambda: b"[convolutional]\nfilters=8\n", "x.cfg"),
    "cfg of noise": ("x.cfg", lambda: b"filters=8\n", "x.cfg"),
    "cfg of no bytes": ("x.cfg", lambda: b"[net]\nheight=\xff\n", "x|UTF-8"),
    "cfg of 10^9": ("x.cfg", lambda: CFG.replace("=16", "=1000000000").encode(), "x.cfg"),
    "onnx of noise": ("x.onnx", lambda: b"\x08\xff\xff\xff", "x.onnx is not an ONNX file"),
    "half of an onnx": ("x.onnx", lambda: onnx_bytes()[:40], "x.onnx"),
    "pt2 of noise": ("x.pt2", lambda: b"PK\x03\x04nothing", "x.pt2 is not a .pt2 archive"),
    "another zip": ("x.pt2", lambda: zipped("a.txt", b"x"), "holds no program"),
    "torchscript": ("x.pt", lambda: zipped("m/data.pkl", b"x"), "pickled or TorchScript"),
    "a page": ("x.html", lambda: b"<!doctype html><p>no plan</p>", "carries no plan"),
}


@pytest.mark.parametrize("how", WRONG)
def test_what_is_wrong_is_one_line_and_nothing_is_lost(
    visitor: Session, until: Any, how: str
) -> None:
    name, make, line = WRONG[how]
    before, model = visitor.work.shown, visitor.problem.model
    said = bring(visitor, until, make(), name)
    assert re.search(line, said), said
    assert "\n" not in said
    assert "/tmp" not in said
    assert "Traceback" not in said
    if how != "huge":
        assert visitor.problem.model == model
    assert visitor.work.shown is before


def test_a_file_that_is_too_large_is_not_kept(
    visitor: Session, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    monkeypatch.setitem(upload_store.MOST_BYTES, "json", 100)
    visitor.uploads.take(json.dumps(graph_json()).encode(), "x.json")
    assert "larger than 100 B" in visitor.work.notice
    assert not visitor.busy
    assert not (folder / "cache" / "uploads").exists()


def test_a_visitor_brings_no_more_than_one_may(
    visitor: Session, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    monkeypatch.setenv("SPILLWAY_UPLOADS_EACH", "1 KiB")
    visitor.uploads.take(b"x" * 600, "x.json")
    visitor.work.notice = ""
    visitor.uploads.take(b"y" * 600, "y.json")
    assert (
        visitor.work.notice
        == "This page has received 1 KiB of files, its limit: open another page."
    )
    assert len(list((folder / "cache" / "uploads").iterdir())) == 1


def test_a_visitor_can_have_what_was_brought_deleted(visitor: Session, folder: Path) -> None:
    place = folder / "cache" / "uploads"
    for text in (b"{}", b"[]"):
        visitor.uploads.take(text, "x.json")
    (place / f"{'0' * 64}.json").write_text("somebody else's")
    visitor.uploads.forget()
    assert visitor.work.notice == "2 files are no longer on this server."
    assert [path.name for path in place.iterdir()] == [f"{'0' * 64}.json"]
    assert not visitor.uploads.kept


def test_an_import_that_takes_too_long_is_ended(
    pool: Any, until: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.app.jobs.test_jobs import PROBLEM, collect

    slow = {**PROBLEM, "planner": "slow", "time_limit": 600}
    last = collect(pool.submit(Request("plan", slow), limit_s=1.0), until)[-1]
    assert last.name == "died"
    assert "took more than 1 seconds" in last["text"]


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\x\\net.ONNX", "net"),
        ("a b<script>.cfg", "a_b_script"),
        ("...", "model"),
        ("é" * 500 + ".json", "é" * 60),
    ],
)
def test_names_of_files_do_no_harm(name: str, plain: str) -> None:
    assert plain_name(name) == plain


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a", b"PK\x03\x04", "pt2"),
        ("a.json", b"{}", "json"),
        ("a.txt", CFG.encode(), "cfg"),
        ("a.json", b"# mine\n[net]\nwidth=3", "cfg"),
        ("a.bin", b"\x08\x08\xff\xff", "onnx"),
        ("a", b"<!DOCTYPE html>", "html"),
        ("a", b'\xef\xbb\xbf{"a": 1}', "json"),
    ],
)
def test_a_file_is_known_by_its_content(name: str, data: bytes, kind: str) -> None:
    assert kind_of(name, data) == kind
