"""Files of other tools are times as they are: each operator's, or one line that says why not.

The exports are of Vela 5.2.0 (`--accelerator-config ethos-u55-128 --verbose-performance`) for `net`
and `branches`, and of torch 2.13.0 for `module`; the benchmark's is by hand, as its source says.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import torch
from torch import nn

import planners as sp
from planners.core import layer_times
from planners.core.errors import BadInput
from planners.core.layer_times import read_samples, with_times
from tests.audits.cure.networks import Int8Net, branches

EXPORTS = Path(__file__).parent / "exports"
RELU = ("aten::relu", "aten::clamp_min")
SUMMARY = "net_summary_Ethos_U55_High_End_Embedded.csv"


@pytest.fixture
def net(tmp_path: Path) -> sp.Graph:
    """Two layers are written into a concatenation, and activations run with their layers."""
    return drawn_net(tmp_path)


def drawn_net(folder: Path, channels: int = 8) -> sp.Graph:
    net = Int8Net((1, 8, 8, 4))
    x = net.activation("RELU", net.conv(net.image, channels, 3))
    joined = net.concat(net.depthwise(x), net.conv(x, 4))
    last = net.activation("LOGISTIC", net.mean(net.conv(joined, 6)))
    return sp.load(net.done(last).save(folder / "net.tflite"))


@cache
def module(channels: int = 4) -> sp.Graph:
    layers = (nn.Conv2d(2, channels, 3), nn.ReLU(), nn.Dropout(), nn.Flatten())
    whole = nn.Sequential(*layers, nn.Linear(16 * channels, 3)).eval()
    return sp.from_torch(whole, torch.zeros(1, 2, 6, 6))


def seconds(graph: sp.Graph) -> dict[str, float | None]:
    return {op.name: op.seconds for op in graph.operators}


def edited(name: str, folder: Path, *changes: tuple[str, str]) -> Path:
    text = (EXPORTS / name).read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (path := folder / name).write_text(text, encoding="utf-8")
    return path


def refused(graph: sp.Graph, path: Path, machine: sp.Machine | None = None) -> str:
    with pytest.raises(BadInput) as error:
        with_times(graph, path, machine)
    assert "\n" not in str(error.value)
    return str(error.value)


# ---- Vela ----


def test_vela_s_cycles_by_the_clock_of_its_summary(net: sp.Graph) -> None:
    """t7 and t10 have no rows of their names: they were written into t11, which took no time."""
    timed = with_times(net, EXPORTS / "net_per-layer.csv")
    cycles = {"t3": 896, "t7": 832, "t10": 512, "t11": 0, "t14": 624, "t16": 796 + 256}
    assert seconds(timed) == pytest.approx({name: n / 500e6 for name, n in cycles.items()})
    assert timed.timed_by == "Vela's net_per-layer.csv at 500 MHz (of its summary)"


def test_what_vela_writes_into_joins_of_joins(tmp_path: Path) -> None:
    """Two convolutions into one concatenation, a pool into the next, which copies the first."""
    graph = sp.load(branches().save(tmp_path / "branches.tflite"))
    path = EXPORTS / "branches_per-layer.csv"
    timed = seconds(with_times(graph, path, replace(sp.load_machine("npu_small"), clock_hz=1.0)))
    joins = {"t8": 754, "t11": 2500, "t12": 0, "t13": 2947, "t14": 1214}
    assert {name: timed[name] for name in joins} == joins
    assert sum(each or 0 for each in timed.values()) == 20_755


def test_without_a_summary_by_the_clock_of_the_machine(net: sp.Graph, tmp_path: Path) -> None:
    path, machine = edited("net_per-layer.csv", tmp_path), sp.load_machine("npu_small")
    timed = with_times(net, path, machine)
    assert timed.operators[0].seconds == pytest.approx(896 / machine.clock_hz)
    assert "MHz (of the machine)" in timed.timed_by
    assert "without Vela's summary beside it that has the clock" in refused(net, path)
    plan = sp.plan(net, "cosma", "MR", machine, times=str(path))
    assert plan.graph.operators[0].seconds == timed.operators[0].seconds


def test_summaries_of_several_clocks_are_no_clock(net: sp.Graph, tmp_path: Path) -> None:
    edited(SUMMARY, tmp_path)
    path = edited("net_per-layer.csv", tmp_path)
    other = (EXPORTS / SUMMARY).read_text(encoding="utf-8").replace("500000000.0", "2e8")
    (tmp_path / "net_summary_other.csv").write_text(other, encoding="utf-8")
    assert "cycles of which clock?" in refused(net, path)
    (tmp_path / "net_summary_other.csv").write_text("core_clock\n-1\n", encoding="utf-8")
    assert "net_summary_other.csv, line 2: core_clock must be" in refused(net, path)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (",0,0.0,100,t17", ",0,0.0,100,t18", "line 9: net has no operator that makes 't18'"),
        ("t4\n", "t14\n", "layer 't3' is missing (1 in all)"),
        ("DepthwiseConv2D,NPU,2000", "DepthwiseConv2D,CPU,2000", "line 4: 't11' runs on the 'CPU'"),
        ("2048,6.8", "2047,6.8", "line 5: Conv2D was written into 't11', and no operator of those"),
        (",896,22.8", ",-896,22.8", "line 2: Op Cycles must be a number, zero or above"),
        (",896,22.8", ",nan,22.8", "line 2: Op Cycles must be a number, zero or above"),
        ("Relu,Relu,", "Relu,", "line 3: 15 cells, not 16"),
        ("18432,61", "18431,61", "line 2: 18,431 MACs, and layer 't3' has 18,432: the table is of"),
    ],
)
def test_what_vela_says_of_no_operator(
    old: str, new: str, said: str, net: sp.Graph, tmp_path: Path
) -> None:
    path = edited("net_per-layer.csv", tmp_path, (old, new))
    assert said in refused(net, path, sp.load_machine("npu_small"))


def test_vela_s_table_of_a_wider_network(tmp_path: Path) -> None:
    assert "could be that row's" in refused(drawn_net(tmp_path, 16), EXPORTS / "net_per-layer.csv")


# ---- TFLite's benchmark ----


@pytest.mark.parametrize("older", [False, True])
def test_milliseconds_of_the_benchmark_s_regular_runs(
    older: bool, net: sp.Graph, tmp_path: Path
) -> None:
    path = edited("net_benchmark.csv", tmp_path)
    if older:
        rows = path.read_text(encoding="utf-8").splitlines()
        rows = [row.replace(", ", ", 0.5, ", 1) if "%, 0, " in row else row for row in rows]
        rows = [row.replace("type, first", "type, start, first") for row in rows]
        path.write_text("\n".join(rows), encoding="utf-8")
    timed = with_times(net, path)
    ms = {"t3": 0.022, "t7": 0.012, "t10": 0.008, "t11": 0.002, "t14": 0.008, "t16": 0.003}
    assert seconds(timed) == pytest.approx({name: each / 1e3 for name, each in ms.items()})
    assert timed.timed_by == "TFLite's benchmark, net_benchmark.csv"


XNNPACK = "TfLiteXNNPackDelegate, 0.025, 0.02, 36%, 36%, 0, 1, [t17]:8"
IGEMM = "Convolution (NHWC, QC8) IGEMM, 0.4, 0.4, 2%, 3%, 0, 1, Delegate/Convolution (NHWC, QC8):0"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "0.02, 36.3636%, 36.3636%, 0, 1, [t3]:0\nR",
            "nan, 3%, 3%, 0, 1, [t3]:0\nR",
            "line 24: avg_ms must",
        ),
        (
            "CONV_2D, 0.025, 0.02, 36.3636%, 36.3636%, 0, 1, [t3]:0",
            XNNPACK,
            "(--use_xnnpack=false)",
        ),
        ("CONV_2D, 0.025, 0.02, 36.3636%, 36.3636%, 0, 1, [t3]:0", IGEMM, "many operators as one"),
        ("[t7]:2", "[t70]:2", "line 26: net has no operator that makes 't70'"),
        ("[t7]:2", "[t3]:2", "layer 't7' is missing (1 in all)"),
        ("RELU, 0.004, 0.002", "RELU, 0.004", "line 25: not 'node type, first, avg_ms"),
        ("Operator-wise", "Other", "it has no regular runs"),
        ("node type, first", "node type, last", "its regular runs have no line 'node type, first"),
    ],
)
def test_what_the_benchmark_says_of_no_operator(
    old: str, new: str, said: str, net: sp.Graph, tmp_path: Path
) -> None:
    assert said in refused(net, edited("net_benchmark.csv", tmp_path, (old, new)))


# ---- PyTorch's profiler ----


def traced(folder: Path, change: object) -> Path:
    """The trace, of whose events each is as a function leaves it, or left out."""
    data = json.loads((EXPORTS / "module_trace.json").read_text(encoding="utf-8"))
    assert callable(change)
    data["traceEvents"] = [e for e in map(change, data["traceEvents"]) if e]
    (path := folder / "module_trace.json").write_text(json.dumps(data), encoding="utf-8")
    return path


def test_the_median_of_a_trace_s_runs() -> None:
    """ReLU counts with its convolution, the view with what reads it, dropout with nothing."""
    timed = with_times(module(), EXPORTS / "module_trace.json")
    events = json.loads((EXPORTS / "module_trace.json").read_text(encoding="utf-8"))["traceEvents"]
    spent = {
        name: sum(e["dur"] for e in events if e["name"] == f"aten::{name}") / 2e6
        for name in ("conv2d", "relu", "linear")
    }
    views = sum(e["dur"] for e in events if e["name"] == "aten::flatten") / 2e6
    assert seconds(timed) == pytest.approx(
        {"conv2d": spent["conv2d"] + spent["relu"], "linear": spent["linear"] + views}
    )
    assert timed.timed_by == "PyTorch's profiler, module_trace.json, 2 runs"


def test_calls_outside_of_marked_steps_do_not_count(tmp_path: Path) -> None:
    steps = json.loads((EXPORTS / "module_trace.json").read_text(encoding="utf-8"))["traceEvents"]
    first = min(e["ts"] for e in steps if e["name"].startswith("ProfilerStep#"))
    path = traced(tmp_path, lambda e: e | {"ts": first - 9} if e["ts"] < first else e)
    data = json.loads(path.read_text(encoding="utf-8"))
    data["traceEvents"].append(
        {"ph": "X", "cat": "cpu_op", "name": "aten::randn", "ts": 1, "dur": 1}
    )
    path.write_text(json.dumps(data), encoding="utf-8")
    assert with_times(module(), path).timed_by.endswith("2 runs")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda e: e["name"] not in RELU and e, "'aten::relu' was called never, and Sequential"),
        (
            lambda e: e | {"name": e["name"].replace("relu", "gelu")},
            "'aten::gelu' was called 2 times",
        ),
        (lambda e: e | {"cat": "kernel"}, "event 0: a kernel of a device"),
        (lambda e: e | {"dur": -1}, "dur must be a number, zero or above, not '-1'"),
        (lambda e: e | {"dur": float("nan")}, "dur must be a number, zero or above, not 'nan'"),
        (lambda e: e | {"dur": 10**400}, "dur must be a number, zero or above"),
        (
            lambda e: e.get("cat") != "cpu_op" and e,
            "it has no calls of the operators of Sequential",
        ),
        (lambda e: e | {"name": e["name"].replace("dropout", "a\nb")}, "'aten::a\\nb' was called"),
        (lambda e: e | {"cat": [], "name": {}}, "it has no calls of the operators of Sequential"),
    ],
)
def test_what_a_trace_says_of_no_operator(change: object, said: str, tmp_path: Path) -> None:
    path = traced(tmp_path, lambda e: change(e) if e["ph"] == "X" else None)  # type: ignore[operator]
    assert said in refused(module(), path)


def test_a_trace_of_a_wider_module() -> None:
    assert "weights of [4, 2, 3, 3], which layer 'conv2d' has not" in refused(
        module(8), EXPORTS / "module_trace.json"
    )


def test_dropout_that_draws_is_a_call(tmp_path: Path) -> None:
    """In training it computes: its time cannot be left out."""
    path = traced(
        tmp_path,
        lambda e: e | {"dur": 3} if e["name"] == "aten::dropout" else e,
    )
    data = json.loads(path.read_text(encoding="utf-8"))
    drops = [e for e in data["traceEvents"] if e["name"] == "aten::dropout"]
    data["traceEvents"] += [e | {"name": "aten::bernoulli_", "dur": 1} for e in drops]
    path.write_text(json.dumps(data), encoding="utf-8")
    assert "'aten::dropout' was called 2 times, and Sequential calls it never" in refused(
        module(), path
    )


def test_a_trace_says_nothing_of_a_file_of_another_framework(net: sp.Graph) -> None:
    assert "not named in their order" in refused(net, EXPORTS / "module_trace.json")


# ---- all of them ----


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"traceEvents": [{"ph": "X"', "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ('{"a": 1}', "JSON without traceEvents"),
        ("[1, null]", "it has no calls"),
        ("node type, first\n", "the first line must be"),
        ("", "the first line must be"),
    ],
)
def test_files_that_are_none(text: str, said: str, tmp_path: Path) -> None:
    (path := tmp_path / "times").write_text(text, encoding="utf-8")
    assert said in refused(module(), path)


@pytest.mark.parametrize("name", ["net_per-layer.csv", "net_benchmark.csv", "module_trace.json"])
def test_cut_short_anywhere_they_are_times_or_a_line(
    name: str, net: sp.Graph, tmp_path: Path
) -> None:
    graph = module() if name.endswith("json") else net
    text = (EXPORTS / name).read_text(encoding="utf-8")
    for cut in range(0, len(text), len(text) // 40):
        (tmp_path / name).write_text(text[:cut], encoding="utf-8")
        with suppress(BadInput):
            timed = with_times(graph, tmp_path / name, sp.load_machine("npu_small"))
            assert all(op.seconds is not None for op in timed.operators)


def test_a_file_of_bytes_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layer_times, "MOST_BYTES", 1000)
    path = edited("module_trace.json", tmp_path)
    assert "it has more than 1,000 bytes" in refused(module(), path)


def test_streaming_asks_for_times_to_read(net: sp.Graph) -> None:
    with pytest.raises(BadInput, match="per-layer table of Vela has no times to read parameters"):
        read_samples(net, EXPORTS / "net_per-layer.csv")
