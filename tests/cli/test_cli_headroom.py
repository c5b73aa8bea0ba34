"""`spillway headroom` from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from planners.cli import main
from tests.importers.onnx_models import model, node, write

Spillway = Callable[..., tuple[int, str, str]]


@pytest.fixture
def spillway(capfd: pytest.CaptureFixture[str]) -> Spillway:
    """Run the command; its exit code, standard output and standard error."""

    def run(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stop:
            main([str(a) for a in arguments])
        out, err = capfd.readouterr()
        return int(stop.value.code or 0), out, err

    return run


def rows(out: str) -> dict[tuple[str, str], Any]:
    return {(row["axis"], row["method"]): row for row in json.loads(out)["rows"]}


def test_a_module_within_what_tinyengine_needs(spillway: Spillway) -> None:
    code, out, _ = spillway("headroom", "vmcu:S8", "--json")
    assert code == 0
    found = rows(out)
    assert json.loads(out)["ram_limit_bytes"] == found["image", "tinyengine"]["ram_bytes"] == 6720
    assert found["image", "tinyengine"]["size"] == 3
    assert found["channels", "tinyengine"]["size"] == 96
    for axis in ("image", "channels", "width"):
        mine, theirs = found[axis, "overlap"], found[axis, "tinyengine"]
        assert mine["size"] > theirs["size"]
        assert mine["macs"] > theirs["macs"]
        assert mine["ram_bytes"] <= 6720
        assert mine["monotone"]
    smaller = rows(spillway("headroom", "vmcu:S8", "--ram", 3000, "--json")[1])
    assert smaller["image", "overlap"]["size"] < found["image", "overlap"]["size"]
    nothing = smaller["channels", "whole_tensors"]
    assert nothing["size"] is nothing["macs"] is None


def test_a_network_as_a_table(spillway: Spillway) -> None:
    code, out, _ = spillway("headroom", "mcunet_vww1", "--ram", "6KiB", "--step", 48)
    assert code == 0
    title, names, first, *rest, weights = out.splitlines()
    assert "444970 (434.5 KiB)" in weights
    assert "524288 (512 KiB) for them" in weights
    assert title == "mcunet_vww1 (80 px) within 6144 (6 KiB)"
    assert names.split() == ["axis", "largest", "growth", "RAM", "MACs", "repeated", "method"]
    assert first.split()[:3] == ["image", "32", "0.40x"]
    assert [line.split()[-1] for line in rest[1:4]] == [
        "tinyengine",
        "whole_tensors",
        "tflite_micro",
    ]
    assert all(line.split()[1] == "none" for line in rest[1:4])


def test_where_nothing_fits(spillway: Spillway) -> None:
    asked = ("headroom", "mcunet_vww1", "--ram", "1KiB", "--step", 48)
    code, out, err = spillway(*asked, "--json")
    assert code == 3
    found = json.loads(out)
    assert found["status"] == "infeasible"
    assert found["need_bytes"] > found["budget_bytes"] == 1024
    assert len(err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("transformer",), "does not read one image"),
        (("mcunet_vww2",), "did you mean 'mcunet_vww1'"),
        (("mcunet_vww1", "--ram", "much"), "is not a size"),
        (("mcunet_vww1", "--machine", "stm32"), "unknown machine"),
        (("vmcu:S9",), "vmcu:S9"),
    ],
)
def test_what_makes_no_sense(spillway: Spillway, arguments: tuple[str, ...], says: str) -> None:
    code, out, err = spillway("headroom", *arguments)
    assert (code, out) == (2, "")
    assert says in err


def test_a_network_of_one_size_says_what_it_needs(spillway: Spillway, tmp_path: Path) -> None:
    """A file's size is fixed: whether it fits, and what each method needs."""
    path = write(model([node("Relu", "x", "y")], {"x": [1, 3, 8, 8]}, {"y": None}), tmp_path)
    code, out, _ = spillway("headroom", path, "--ram", "1KiB")
    assert code == 0
    assert "The network is of this size alone" in out
    found = rows(spillway("headroom", path, "--ram", "1KiB", "--json")[1])
    need = 3 * 8 * 8 * 4
    assert (found["image", "overlap"]["size"], found["image", "overlap"]["ram_bytes"]) == (8, need)
    assert found["image", "whole_tensors"]["size"] is None
