"""Darknet files: what each section computes, what is refused and with which words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import planners as sp
from planners.catalogue import build
from planners.core.errors import BadInput
from planners.importers.darknet import layers as darknet_layers
from planners.importers.darknet import reader as darknet
from planners.importers.darknet.cfg import essence, parse
from tests.importers.darknet_sections import section_of

NET = "[net]\nbatch=64\nwidth=8\nheight=12\nchannels=3\n"
CONV = "[convolutional]\nbatch_normalize=1\nfilters={}\nsize=3\nstride=1\npad=1\nactivation=leaky\n"
SMALL = (
    f"{NET}# a comment\n"
    + CONV.format(8)
    + "[maxpool]\nsize=2\nstride=2\n"
    + CONV.format(16)
    + "[route]\nlayers=-1\ngroups=2\ngroup_id=1\n"
    + CONV.format(8).replace("leaky", "mish")
    + "[shortcut]\nfrom=-2\nactivation=swish\n"
    + "[upsample]\nstride=2\n"
    + "[route]\nlayers = -1, 0\n"
    + "[dropout]\nprobability=.5\n"
    + "[convolutional]\nfilters=18\nsize=1\nactivation=logistic\n"
    + "[yolo]\nmask=0,1,2\nclasses=1\nnum=9\n"
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of the test's own."""
    monkeypatch.setenv("SPILLWAY_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.cfg"
    path.write_text(SMALL)
    return path


def run(text: str, image: torch.Tensor) -> Any:
    """What the sections after `[net]` make of an image, with weights as they start."""
    channels, height, width = image.shape[1:]
    net = f"[net]\nwidth={width}\nheight={height}\nchannels={channels}\n"
    network = parse(net + text, "x.cfg", "x")
    with torch.no_grad():
        value = darknet.module_of(network)(image)
    assert tuple(value.shape) == (image.shape[0], *network.layers[-1].shape)
    return value


def test_operators_are_fused_and_name_their_sections(small: Path) -> None:
    graph = sp.from_darknet(small)
    found = [(op.kind, section_of(op)) for op in graph.operators]
    assert found == [
        ("conv2d", (0, "convolutional")),
        ("max_pool2d", (1, "maxpool")),
        ("conv2d", (2, "convolutional")),
        ("conv2d", (4, "convolutional")),
        ("add", (5, "shortcut")),
        ("upsample_nearest2d", (6, "upsample")),
        ("cat", (7, "route")),
        ("conv2d", (9, "convolutional")),
    ]
    assert graph.name == "small"
    assert graph.macs == 9 * (8 * 3 * 96 + 16 * 8 * 24 + 8 * 8 * 24) + 18 * 16 * 96
    assert [graph.tensors[name].shape for name in graph.outputs] == [(1, 18, 12, 8)]
    assert "identities" in graph.source["note"]


@pytest.mark.parametrize("granularity", ["aten", "folded", "fused"])
def test_runs_bit_for_bit_from_its_source_alone(small: Path, granularity: str) -> None:
    graph = sp.load(small, granularity=granularity)
    again = sp.Graph.from_json(graph.to_json())
    small.unlink()  # the graph holds what it takes
    done = sp.execute(sp.plan(again, budget="MR", time_limit=600))
    assert done.bit_exact
    assert all(value.std() > 1e-3 for value in done.outputs)


def test_a_shortcut_that_widens_is_a_sum_and_a_join(tmp_path: Path) -> None:
    path = tmp_path / "wide.cfg"
    path.write_text(
        NET
        + CONV.format(4)
        + CONV.format(6).replace("stride=1", "stride=2")
        + "[shortcut]\nfrom=0\n"
    )
    graph = sp.from_darknet(path)
    assert [op.kind for op in graph.operators] == ["conv2d", "conv2d", "add", "cat"]
    assert sp.execute(sp.plan(graph, budget="MR", time_limit=600)).bit_exact


def test_all_ways_to_load_are_one(small: Path) -> None:
    graph = sp.from_darknet(small)
    assert graph == sp.load(str(small)) == darknet.from_darknet(small)
    wide = sp.from_darknet(small, (2, 3, 16, 32), bytes_per_element=4)
    assert wide == sp.load(small, input_shape=((2, 3, 16, 32),), bytes_per_element=4)
    assert [wide.tensors[name].shape for name in wide.outputs] == [(2, 18, 16, 32)]
    module, inputs = build(wide.source)
    assert [tuple(x.shape) for x in inputs] == [(2, 3, 16, 32)]
    assert tuple(module(*inputs).shape) == (2, 18, 16, 32)


def test_essence_keeps_the_network_and_drops_the_rest() -> None:
    text = essence(SMALL, "small.cfg")
    assert "batch=64" not in text
    assert "comment" not in text
    assert essence(text, "") == text
    assert parse(text, "", "small") == parse(SMALL, "", "small")


def test_maxpool_pads_as_darknet_does() -> None:
    """Windows begin `padding // 2` before the image, and what is outside is passed over."""
    for height in (3, 4, 7):
        for size in range(1, 6):
            for stride in range(1, 4):
                for padding in (size - 1, size // 2, 0):
                    count = (height + padding - size) // stride + 1
                    if count < 1:
                        continue
                    image = torch.randn(1, 2, height, height) - 5
                    text = f"[maxpool]\nsize={size}\nstride={stride}\npadding={padding}\n"
                    found = run(text, image)
                    starts = [stride * i - padding // 2 for i in range(count)]
                    spans = [slice(max(0, s), max(0, s + size)) for s in starts]
                    for i, rows in enumerate(spans):
                        for j, columns in enumerate(spans):
                            window = image[:, :, rows, columns]
                            if window.numel():
                                assert torch.equal(found[:, :, i, j], window.amax((2, 3)))


@pytest.mark.parametrize(("channels", "step"), [(2, 1), (2, 2), (6, 1), (6, 2), (4, 2)])
def test_shortcut_adds_the_channels_and_pixels_that_both_have(channels: int, step: int) -> None:
    """As Darknet's `shortcut_cpu` with the source `step` times larger."""
    image = torch.randn(1, channels, 4 * step, 4 * step)
    conv = f"[convolutional]\nfilters=4\nsize=1\nstride={step}\nactivation=linear\n"
    torch.manual_seed(1)
    before = run(f"[avgpool]\n[route]\nlayers=0\n{conv}".replace(f"stride={step}", ""), image)
    assert before.shape == (1, 4, 1, 1)
    text = f"[dropout]\n{conv}[shortcut]\nfrom=0\nactivation=relu\n"
    torch.manual_seed(2)
    found = run(text, image)
    torch.manual_seed(2)
    expected = run(f"[dropout]\n{conv}", image).clone()
    for k in range(min(channels, 4)):
        for j in range(4):
            for i in range(4):
                expected[0, k, j, i] += image[0, k, j * step, i * step]
    assert torch.allclose(found, expected.relu())


def test_reorg_moves_elements_as_darknet_does() -> None:
    image = torch.randn(2, 8, 4, 6)
    found = run("[reorg]\nstride=2\n", image)
    x, s = image.flatten(1), 2
    expected = torch.empty_like(x)
    channels, height, width = image.shape[1:]
    for k in range(channels):
        for j in range(height):
            for i in range(width):
                at, c = k // (channels // s**2), k % (channels // s**2)
                w, h = i * s + at % s, j * s + at // s
                expected[:, i + width * (j + height * k)] = x[
                    :, w + width * s * (h + height * s * c)
                ]
    assert torch.equal(found.flatten(1), expected)


def test_sections_of_classifiers() -> None:
    image = torch.randn(2, 4, 6, 6)
    text = "[avgpool]\n[connected]\noutput=10\nactivation=linear\n[softmax]\ngroups=2\n[cost]\n"
    found = run(text, image)
    assert torch.allclose(found.view(2, 2, 5).sum(2), torch.ones(2, 2))
    assert torch.equal(run("[avgpool]\n", image), image.mean((2, 3), keepdim=True))
    whole = run("[softmax]\n", image)
    assert torch.allclose(whole.flatten(1).sum(1), torch.ones(2))


@pytest.mark.parametrize("activation", darknet_layers.ACTIVATIONS)
def test_activations(activation: str) -> None:
    x = torch.linspace(-8, 8, 33).view(1, 1, 3, 11)
    expected = {
        "linear": x,
        "leaky": torch.where(x > 0, x, 0.1 * x),
        "mish": x * torch.tanh(torch.log1p(x.exp())),
        "logistic": 1 / (1 + (-x).exp()),
        "swish": x / (1 + (-x).exp()),
        "relu": x.clamp(min=0),
        "relu6": x.clamp(0, 6),
        "tanh": 1 - 2 / (1 + (2 * x).exp()),
    }[activation]
    text = f"[dropout]\n[shortcut]\nfrom=-1\nactivation={activation}\n"
    assert torch.allclose(run(text, x / 2), expected, atol=1e-6)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", r"x\.cfg:1: no \[net\] section"),
        ("# nothing\n", r"x\.cfg:1: no \[net\] section"),
        (NET, r"x\.cfg:1: no layers come after \[net\]"),
        ("[conv]\nfilters=3\n", r"x\.cfg:1: \[convolutional\] comes before \[net\]"),
        (NET + NET, r"x\.cfg:6: a second \[net\]"),
        ("width=8\n", r"x\.cfg:1: width= comes before any section"),
        (NET.replace("8", "wide") + "[avgpool]\n", r"x\.cfg:3: width is 'wide', not a whole"),
        (NET.replace("8", "0") + "[avgpool]\n", r"x\.cfg:3: width is '0', not a whole"),
        (NET.replace("width=8\n", "") + "[avgpool]\n", r"x\.cfg:1: \[net\] has no width: write"),
        (NET + "[lstm]\noutput=3\n", r"x\.cfg:6: no section \[lstm\]: supported are conv"),
        (NET + "[avgpool\n", r"x\.cfg:6: '\[avgpool' is no \[section\]; is the file cut"),
        (NET + "[route]\nlayers\n", r"x\.cfg:7: 'layers' is neither \[section\] nor option"),
        (NET + "[route]\nlayers=\n", r"x\.cfg:7: layers= has no value; is the file cut"),
        (NET + "[route]\n", r"x\.cfg:6: \[route\] has no layers"),
        (NET + "[route]\nlayers=-1\n", r"x\.cfg:7: layers=-1 is not an earlier layer: none comes"),
        (
            SMALL + "[route]\nlayers=4,99\n",
            r"layers=99 is not an earlier layer: layers 0 to 10 come",
        ),
        (SMALL + "[route]\nlayers=-12\n", r"layers=-12 is not an earlier layer"),
        (SMALL + "[route]\nlayers=one\n", r"layers is 'one', not whole numbers"),
        (SMALL + "[route]\nlayers=0,1\n", r"x\.cfg:\d+: layer 11 \[route\]: a route joins .*12x8"),
        (SMALL + "[route]\nlayers=0\ngroups=3\n", "group 0 of 3 is no part of 8 channels"),
        (SMALL + "[route]\nlayers=0\ngroups=2\ngroup_id=2\n", "group 2 of 2 is no part"),
        (SMALL + "[shortcut]\nfrom=1\n", r"a shortcut adds layer 1 of 6x4 to 12x8"),
        (SMALL.replace("filters=18", "filters=19"), r"3 boxes .* are 18 channels, .* has 19"),
        (SMALL.replace("mish", "mush"), r"x\.cfg:\d+: layer 4 \[conv.*: no activation 'mush'"),
        (SMALL.replace("filters=16", "filtres=16"), "no option filtres; did you mean filters"),
        (SMALL.replace("filters=16", "filters=16\nfilters=32"), "filters is '32' here and another"),
        (SMALL.replace("filters=16", "groups=3\nfilters=16"), "3 groups divide 8 channels"),
        (SMALL.replace("filters=16", "xnor=1\nfilters=16"), "with xnor is not supported"),
        (
            NET + "[convolutional]\nfilters=4\nsize=9\nactivation=relu\n",
            "nothing is left of 3x12x8",
        ),
        (NET + "[maxpool]\nsize=20\npadding=0\n", "nothing is left"),
        (NET + "[convolutional]\nfilters=999999999\nactivation=relu\n", "is more than 1073741824"),
        (NET + "[connected]\noutput=99999999\nactivation=relu\n", "weights come to more than"),
        (NET + "[upsample]\nstride=999999\n", "is more than 1073741824 elements"),
        (NET + "[upsample]\nscale=2\n", "with a scale is not supported"),
        (NET + "[reorg]\nstride=2\n", "a reorg by 2 takes channels divisible by 4"),
        (NET + "[softmax]\ngroups=5\n", "5 groups divide 288 elements unevenly"),
        (NET + "[avgpool]\n" * 2001, "more than 2000 sections"),
        (NET.replace("8", "9" * 40) + "[avgpool]\n", "not a whole number from 1"),
    ],
)
def test_what_is_wrong_is_said_with_file_and_line(text: str, words: str) -> None:
    with pytest.raises(BadInput, match=words) as caught:
        parse(text, "x.cfg", "x")
    assert str(caught.value).startswith("x.cfg:")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (
            b"\x00\x00\x00\x00\x02\x00\x00\x00",
            ":1: not text; give a Darknet .cfg file, not weights",
        ),
        (b"[net]\n\xff\xfe", ":2: not text"),
        (b"x" * (2**22 + 1), "is larger than 4194304 bytes"),
    ],
)
def test_files_that_are_no_text(data: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "x.cfg"
    path.write_bytes(data)
    with pytest.raises(BadInput, match=words):
        sp.from_darknet(path)
    with pytest.raises(BadInput, match="cannot read"):
        sp.load(tmp_path / "none.cfg")


@pytest.mark.parametrize(
    "shape",
    [(3, 8, 8), (1, 4, 8, 8), (1, 3, 0, 8), (1, 3, 8, 8.0), "1x3x8x8", (1, 3, 2**15, 2**15), 3, ()],
)
def test_input_shapes_that_do_not_do(shape: Any, small: Path) -> None:
    with pytest.raises(BadInput, match="small.cfg takes an image such as 1x3x12x8"):
        sp.from_darknet(small, shape)


def test_an_input_at_which_sizes_do_not_fit(small: Path) -> None:
    with pytest.raises(BadInput, match=r"small\.cfg:\d+: layer 7 \[route\]: a route joins"):
        sp.from_darknet(small, (1, 3, 9, 9))
    with pytest.raises(BadInput, match="granularity"):
        sp.from_darknet(small, granularity="coarse")


@pytest.mark.parametrize(
    "source",
    [
        {"darknet": 3, "input_shape": [[1, 3, 8, 8]]},
        {"darknet": SMALL},
        {"darknet": SMALL, "input_shape": [[[1, 3, 8, 8]]]},
        {"darknet": SMALL, "input_shape": [[1, 3, 8, 8], [1]]},
        {"darknet": "[net]", "input_shape": [[1, 3, 8, 8]]},
    ],
)
def test_sources_that_hold_no_network(source: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        build(source)


@given(st.integers(0, len(SMALL)), st.text(max_size=6), st.integers(0, 40))
def test_a_spoilt_file_is_a_network_or_bad_input(at: int, junk: str, cut: int) -> None:
    text = SMALL[:at] + junk + SMALL[at + cut :]
    said = ""
    try:
        parse(text, "x.cfg", "x")
    except BadInput as error:
        said = str(error)
    assert not said or (said.startswith("x.cfg:") and "\n" not in said)


@given(st.integers(0, len(SMALL)))
def test_a_cut_file_is_a_network_or_bad_input(end: int) -> None:
    try:
        network = parse(SMALL[:end], "x.cfg", "x")
    except BadInput:
        return
    whole = parse(SMALL, "x.cfg", "x").layers
    assert len(network.layers) <= len(whole)
    assert network.layers[:-1] == whole[: len(network.layers) - 1]
