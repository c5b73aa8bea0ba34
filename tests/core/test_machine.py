"""Machines: presets and their sources, a user's own files, errors that name the field."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planners.core.errors import BadInput, UnknownName
from planners.core.machine import (
    Machine,
    changed_numbers,
    load_machine,
    preset_name,
    presets,
    with_numbers,
    with_scratchpad,
)

ROOT = Path(__file__).parents[2]
KIB = 1024
SPECIFIED = {
    "edge_tpu_like": 8192 * KIB,
    "ethos_u55_128_deep_embedded": 256 * KIB,
    "ethos_u55_128_deep_embedded_sram_only": 256 * KIB,
    "ethos_u55_128_high_end": 2048 * KIB,
    "ethos_u55_128_high_end_sram_only": 2048 * KIB,
    "ethos_u55_64_deep_embedded": 256 * KIB,
    "ethos_u55_64_deep_embedded_sram_only": 256 * KIB,
    "ethos_u55_64_high_end": 2048 * KIB,
    "ethos_u55_64_high_end_sram_only": 2048 * KIB,
    "ethos_u55_deep_embedded": 256 * KIB,
    "ethos_u55_deep_embedded_sram_only": 256 * KIB,
    "ethos_u55_high_end": 2048 * KIB,
    "ethos_u55_high_end_sram_only": 2048 * KIB,
    "ethos_u65_256_high_end": 2048 * KIB,
    "ethos_u65_256_high_end_sram_only": 2048 * KIB,
    "ethos_u65_512_high_end": 2048 * KIB,
    "ethos_u65_512_high_end_sram_only": 2048 * KIB,
    "eyeriss": 108 * KIB,
    "h100_sxm": 50 * 1024 * KIB,
    "jetson_orin": 4096 * KIB,
    "jetson_xavier": 32 * 1024**3,
    "jetson_xavier_980pro": 16 * 1024**3,
    "npu_ideal": 1024 * KIB,
    "npu_small": 1024 * KIB,
    "nvdla_large": 512 * KIB,
    "nvdla_small": 128 * KIB,
    "optimus": 128 * KIB,
    "optimus_256": 256 * KIB,
    "optimus_512": 512 * KIB,
    "shidiannao": 288_000,
    "stm32f411": 128 * KIB,
    "stm32f746": 320 * KIB,
    "stm32f767": 512 * KIB,
    "stm32h743": 512 * KIB,
    "stm32h743_psram": 128 * KIB,
    "tpu_v4i": 128 * 1024 * KIB,
}


def table() -> dict[str, Any]:
    """A small valid machine as plain data, for a test to break."""
    memory = {"read_bytes_per_s": 1e9, "write_bytes_per_s": 1e9}
    energy = {"read_pj_per_byte": 1.0, "write_pj_per_byte": 1.0}
    return {
        "name": "mine",
        "title": "Mine",
        "clock_hz": 1e9,
        "macs_per_s": 1e9,
        "bits_per_mac": 8,
        "mac_pj": 0.2,
        "memories": [
            {"name": "scratchpad", "size_bytes": 4096, **memory, **energy},
            {"name": "host", "size_bytes": 0, **memory, **energy},
        ],
        "engines": [{"name": n, "bytes_per_s": 1e9} for n in ("compute", "dma_in", "dma_out")],
    }


def test_every_preset_of_the_table_is_there_with_its_size() -> None:
    assert {name: m.scratchpad_bytes for name, m in presets().items()} == SPECIFIED


@pytest.mark.parametrize("name", SPECIFIED)
def test_a_preset_says_where_each_figure_is_from(name: str) -> None:
    machine = presets()[name]
    said = ("compute_maps", "compute_ports", "seconds_band")
    tables = {name for name in said if name in machine.to_json()}
    assert set(machine.sources) == set(machine.numbers()) | tables
    assert all(source.strip() for source in machine.sources.values())
    assert machine.notes.endswith(".")
    assert machine.title


@pytest.mark.parametrize("name", SPECIFIED)
def test_a_preset_can_move_and_compute(name: str) -> None:
    machine = presets()[name]
    others = {level.name for level in machine.memories} - {level.name for level in machine.banks}
    has_storage = others != {machine.offchip}
    assert has_storage == ("storage" in {engine.name for engine in machine.engines})
    off = machine.memory(machine.offchip)
    on = machine.memory(machine.onchip)
    assert off.read_pj_per_byte >= on.read_pj_per_byte
    assert machine.engine("compute").bytes_per_s <= on.read_bytes_per_s


def test_parameters_of_a_microcontroller_live_in_flash() -> None:
    for name in ("stm32f411", "stm32f746", "stm32f767", "stm32h743_psram", "ethos_u55_high_end"):
        assert presets()[name].parameters == "flash"


def with_slower(*names: object, **values: float) -> dict[str, Any]:
    """The machine with a memory `ram` of half the speed, or of these values, named as slower."""
    data = table()
    ram = {**data["memories"][0], "name": "ram", "read_bytes_per_s": 5e8} | values
    return data | {"memories": [*data["memories"], ram], "slower": list(names)}


def test_memories_behind_the_fastest_are_in_order() -> None:
    assert [m.name for m in presets()["stm32h743_psram"].banks] == ["dtcm", "sram", "psram"]
    assert [m.name for m in presets()["npu_small"].banks] == ["scratchpad"]
    assert "slower" not in presets()["npu_small"].to_json()
    machine = Machine.from_json(with_slower("ram"))
    assert Machine.from_json(tomllib.loads(machine.to_toml())) == machine
    assert Machine.from_json(json.loads(json.dumps(machine.to_json()))) == machine


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (with_slower("ram", size_bytes=0), "ram.size_bytes must be above zero"),
        (with_slower("rom"), "slower names no memory: 'rom'"),
        (with_slower("ram", "ram"), "slower: 'ram' is named as slower already"),
        (with_slower("host"), "slower: 'host' is named as offchip already"),
        (with_slower("scratchpad"), "slower: 'scratchpad' is named as onchip already"),
        (
            with_slower("ram", read_bytes_per_s=2e9),
            "slower: 'ram' comes after 'scratchpad', but its read_bytes_per_s is higher",
        ),
    ],
)
def test_memories_that_make_no_sense_are_named(data: Any, message: str) -> None:
    with pytest.raises(BadInput) as refused:
        Machine.from_json(data)
    assert str(refused.value) == f"machine 'mine': {message}"


def test_slower_memories_are_a_list_of_names() -> None:
    with pytest.raises(BadInput, match="machine: slower must be a list of names, not 'ram'"):
        Machine.from_json(table() | {"slower": "ram"})
    with pytest.raises(BadInput, match="machine: slower must be a list of names"):
        Machine.from_json(with_slower(3))


def test_figures_that_the_sources_state() -> None:
    # CACTI 7 at 45 nm, 1 MB: 41.9 pJ per 64 bits; Horowitz: 0.2 + 0.03 pJ; LPDDR4: 8 pJ a bit.
    npu = presets()["npu_small"]
    assert npu.memory("scratchpad").read_pj_per_byte == pytest.approx(41.9 / 8)
    assert npu.mac_pj == pytest.approx(0.23)
    assert npu.memory("host").read_pj_per_byte == 8 * 8
    # Optimus's artefact: DRAM 200 and buffer 6, 9, 12 times a MAC for 16 bits.
    for name, ratio in (("optimus", 6), ("optimus_256", 9), ("optimus_512", 12)):
        machine = presets()[name]
        assert machine.memory("scratchpad").read_pj_per_byte * 2 == ratio * machine.mac_pj
        assert machine.memory("host").read_pj_per_byte * 2 == 200 * machine.mac_pj


def test_energies_between_sizes_are_interpolated_on_the_square_root() -> None:
    # 256 KiB at 22 nm, between 128 KB (5.2) and 512 KB (10.6).
    share = (256**0.5 - 128**0.5) / (512**0.5 - 128**0.5)
    found = presets()["ethos_u55_deep_embedded"].memory("scratchpad").read_pj_per_byte
    assert found == pytest.approx((5.2 + share * (10.6 - 5.2)) / 8, abs=5e-4)


@pytest.mark.parametrize("name", SPECIFIED)
def test_a_machine_survives_toml_and_json(name: str, tmp_path: Path) -> None:
    machine = presets()[name]
    (tmp_path / "m.toml").write_text(machine.to_toml(), encoding="utf-8")
    (tmp_path / "m.json").write_text(json.dumps(machine.to_json()), encoding="utf-8")
    assert load_machine(tmp_path / "m.toml") == machine
    assert load_machine(str(tmp_path / "m.json")) == machine
    assert load_machine(machine) is machine


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_survives_toml(text: str) -> None:
    machine = Machine.from_json({**table(), "notes": text, "title": text})
    assert Machine.from_json(tomllib.loads(machine.to_toml())) == machine


def test_the_documented_machine_loads(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "machines.md").read_text(encoding="utf-8")
    example, array = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    flash = array.replace('"flash"', '"host"')
    (tmp_path / "my_npu.toml").write_text(example + flash, encoding="utf-8")
    machine = load_machine(tmp_path / "my_npu.toml")
    assert machine.scratchpad_bytes == 512 * KIB
    assert machine.compute_maps[0].inputs == 32
    assert machine.compute_rates["add"] == 1.33
    assert machine.compute_ports.parallel == (("scratchpad",), ("host",))
    assert machine.engine("dma_in").latency_s == pytest.approx(200e-9)


def test_a_budget_replaces_the_scratchpad() -> None:
    machine = with_scratchpad(presets()["npu_small"], 4096)
    assert machine.scratchpad_bytes == 4096
    assert machine.sources["scratchpad.size_bytes"] == "the budget"
    assert machine.memory("host") == presets()["npu_small"].memory("host")
    with pytest.raises(BadInput, match=r"scratchpad\.size_bytes must be above zero"):
        with_scratchpad(machine, 0)


def test_an_unknown_preset_suggests_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean 'npu_small'") as caught:
        load_machine("npu_smal")
    assert caught.value.nearest[0] == "npu_small"


def breaking(*path: str | int, value: Any) -> dict[str, Any]:
    data = table()
    place: Any = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return data


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (breaking("clock_hzz", value=1.0), "unknown field 'clock_hzz'; did you mean 'clock_hz'"),
        (breaking("colour", value="red"), "unknown field 'colour'$"),
        (breaking("clock_hz", value="fast"), "clock_hz must be of type float, not 'fast'"),
        (breaking("clock_hz", value=True), "clock_hz must be of type float, not True"),
        (breaking("bits_per_mac", value=8.0), "bits_per_mac must be of type int"),
        (breaking("name", value=3), "name must be of type str"),
        (breaking("clock_hz", value=0), "clock_hz must be above zero"),
        (breaking("clock_hz", value=10**400), "clock_hz must be a finite number"),
        (breaking("macs_per_s", value=float("inf")), "macs_per_s must be a finite number"),
        (breaking("mac_pj", value=float("nan")), "mac_pj must be a finite number"),
        (breaking("mac_pj", value=-1.0), "mac_pj must be a finite number, zero or above, not -1"),
        (breaking("memories", value=[]), "memories must be a non-empty list"),
        (breaking("memories", value={"name": "x"}), "memories must be a non-empty list"),
        (breaking("memories", 0, value=7), r"memories\[0\]: expected a table of fields"),
        (breaking("memories", 0, "size", value=7), r"memories\[0\]: unknown field 'size'"),
        (breaking("memories", 0, "size_bytes", value=0), r"scratchpad\.size_bytes must be above"),
        (breaking("memories", 1, "size_bytes", value=-1), r"host\.size_bytes must be a finite"),
        (breaking("memories", 1, "name", value="scratchpad"), "two memories share a name"),
        (breaking("memories", 1, "name", value="dram"), "offchip names no memory: 'host'"),
        (breaking("parameters", value="flash"), "parameters names no memory: 'flash'"),
        (breaking("engines", 0, "name", value="gpu"), "engine 'compute' is missing"),
        (breaking("engines", 0, "latency_s", value=-1), r"compute\.latency_s must be a finite"),
        (breaking("engines", 0, "bytes_per_s", value=0), r"compute\.bytes_per_s must be above"),
        (breaking("sources", value={"clock": "x"}), "sources: unknown field 'clock'"),
        (breaking("sources", value={"foo": "x"}), "sources: unknown field 'foo'"),
        (breaking("sources", value={"clock_hz": 3}), "sources must be a table of texts"),
        ([1], "a machine is a table of fields"),
    ],
)
def test_a_wrong_field_is_named(data: Any, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        Machine.from_json(data)


@pytest.mark.parametrize("name", [n for n in table() if n not in ("onchip", "offchip")])
def test_a_missing_field_is_named(name: str) -> None:
    data = table()
    del data[name]
    with pytest.raises(BadInput, match=f"machine: field '{name}' is missing"):
        Machine.from_json(data)


def test_a_missing_field_of_a_memory_is_named() -> None:
    data = table()
    del data["memories"][1]["read_pj_per_byte"]
    with pytest.raises(BadInput, match=r"memories\[1\]: field 'read_pj_per_byte' is missing"):
        Machine.from_json(data)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("m.toml", "clock_hz = ", "m.toml is malformed"),
        ("m.json", "[" * 100_000, "m.json is malformed"),
        ("m.json", "{}", "m.json: machine: field 'name' is missing"),
        ("m.toml", "mac_pj = nan", "m.toml: machine: field 'name' is missing"),
    ],
)
def test_a_bad_file_is_named(name: str, text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match=message):
        load_machine(tmp_path / name)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"cannot read .*m\.toml: No such file"):
        load_machine(tmp_path / "m.toml")


def test_an_unknown_memory_or_engine_is_named() -> None:
    with pytest.raises(BadInput, match="'npu_small' has no memory 'cache'"):
        presets()["npu_small"].memory("cache")
    with pytest.raises(BadInput, match="'npu_small' has no engine 'gpu'"):
        presets()["npu_small"].engine("gpu")


def test_numbers_of_a_preset_are_changed_by_their_names() -> None:
    given = {"host.read_bytes_per_s": 4_000_000_000, "mac_pj": 1, "storage.latency_s": 2e-7}
    machine = with_numbers("npu_small", given)
    preset = presets()["npu_small"]
    assert {**preset.numbers(), **given} == machine.numbers()
    assert type(machine.memory("host").read_bytes_per_s) is float
    assert machine.sources["host.read_bytes_per_s"] == "given, in place of 8e+09"
    assert machine.sources["clock_hz"] == preset.sources["clock_hz"]
    assert Machine.from_json(machine.to_json()) == machine
    assert changed_numbers(with_scratchpad(machine, 4096)) == given
    assert with_numbers(preset, {}) == preset


@pytest.mark.parametrize("name", SPECIFIED)
def test_no_number_of_a_preset_is_left_out(name: str) -> None:
    preset = presets()[name]
    double = {name: value * 2 for name, value in preset.numbers().items()}
    assert with_numbers(name, double).numbers() == double


@pytest.mark.parametrize(
    ("numbers", "error", "line"),
    [
        ({"host.read_bytes": 1.0}, UnknownName, "did you mean 'host.read_bytes_per_s'"),
        ({"host.read_bytes_per_s": -1.0}, BadInput, "host.read_bytes_per_s must be a finite"),
        ({"host.read_bytes_per_s": 0}, BadInput, "host.read_bytes_per_s must be above zero"),
        ({"mac_pj": float("nan")}, BadInput, "mac_pj must be a finite number"),
        ({"mac_pj": 10**400}, BadInput, "mac_pj must be a finite number"),
        ({"mac_pj": "much"}, BadInput, "mac_pj must be a number, not 'much'"),
        ({"clock_hz": True}, BadInput, "clock_hz must be a number"),
        ({"bits_per_mac": 7.5}, BadInput, "bits_per_mac must be a whole number"),
        ({"host.size_bytes": float("inf")}, BadInput, "host.size_bytes must be a whole number"),
    ],
)
def test_numbers_that_make_no_sense_are_named(
    numbers: dict[str, Any], error: type[Exception], line: str
) -> None:
    with pytest.raises(error, match=re.escape(line)):
        with_numbers("npu_small", numbers)


def test_another_machine_is_no_preset_with_other_numbers() -> None:
    mine = Machine.from_json(table())
    assert changed_numbers(mine) is None
    data = {**presets()["npu_small"].to_json(), "title": "Another"}
    assert changed_numbers(Machine.from_json(data)) is None
    assert changed_numbers(presets()["npu_small"]) == {}


def test_a_preset_of_before_is_known_by_the_name_that_it_has_today() -> None:
    ideal = presets()["npu_ideal"]
    before = {**ideal.to_json(), "name": "npu_small", "title": "A small NPU, for teaching"}
    assert preset_name(Machine.from_json(before)) == "npu_ideal"
    assert changed_numbers(Machine.from_json(before)) == {}
    assert changed_numbers(Machine.from_json({**before, "macs_per_s": 1e9})) == {"macs_per_s": 1e9}
    assert preset_name(presets()["npu_small"]) == "npu_small"


def test_numbers_that_change_nothing_are_named() -> None:
    assert presets()["npu_ideal"].without_effect == (
        "clock_hz",
        "bits_per_mac",
        "compute.bytes_per_s",
    )
    assert "clock_hz" not in presets()["npu_small"].without_effect
