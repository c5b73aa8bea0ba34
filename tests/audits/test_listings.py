"""Listings of Vela and XLA: real ones (trimmed), made by hand, and broken."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

import planners as sp
from planners.audits.foreign import ForeignPlan, conflicts
from planners.audits.readers.reading import read_plan
from planners.audits.readers.vela import read_vela
from planners.audits.readers.xla import read_xla
from planners.core.errors import BadInput

DATA = Path(__file__).parent / "data"
VELA, LEGACY = DATA / "vela_micro_speech.txt", DATA / "vela_micro_speech_legacy.txt"
XLA = DATA / "xla_block-buffer-assignment.txt"
TITLE = "Allocation, memory Sram, usage mask: FeatureMap|Staging\n"
HEADER = (
    "Start Time - End Time  : Start Addr -   End Addr: Tensor Size: Memory Usage: Format : Name\n"
)


def test_vela_is_at_its_load_to_the_byte() -> None:
    """Micro speech: Vela prints a peak of 5,968 bytes; tensors in place are no conflicts."""
    plan = read_vela(VELA)
    assert plan.own_peak == {"Sram": 5968}
    found = sp.audit(VELA)
    assert found.peak_bytes == found.least_bytes == found.floor_bytes == 5968
    assert found.proven
    assert not found.broken
    assert len({t.alias for t in plan.tensors}) < len(plan.tensors)
    assert plan.notes


def test_velas_older_compiler_with_two_memories() -> None:
    plan = read_vela(LEGACY)
    assert plan.own_peak == {"Sram": 7024, "Dram": 1968}
    found = sp.audit(LEGACY)
    for memory in found.memories:
        assert memory.peak_bytes == memory.own_bytes == memory.least_bytes
    assert not found.broken
    names = {t.name for t in plan.tensors}
    assert "Reshape_1" in names
    assert not any(":" in name for name in names)


def test_a_conflict_in_a_listing_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "vela.txt"
    rows = "0 - 2: 0x0 - 0x20: 32: 48: NHWC : a\n 1 - 3: 0x10 - 0x30: 32: 48: NHWC : b\n"
    path.write_text(TITLE + HEADER + rows + "Allocation Peak Tensor Size: 48 bytes\n")
    (conflict,) = conflicts(read_plan(path).inside("Sram"))
    assert (conflict.one, conflict.other, conflict.step) == ("a", "b", 1)
    assert (conflict.start, conflict.stop) == (16, 32)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("nothing here\n", "no table of an allocation"),
        (TITLE + HEADER, "cut short"),
        (TITLE + HEADER + "0 - 2: 0x0 - 0x20\nAllocation Peak Tensor Size: 48\n", "line 3: no row"),
        (TITLE + HEADER + "0 - 2: 0x0 - 0x20: 33: 48: N : a\n", "line 3: a row contradicts"),
        (TITLE + HEADER + "2 - 1: 0x0 - 0x20: 32: 48: N : a\n", "line 3: a row contradicts"),
        (TITLE + HEADER + "Allocation Peak Tensor Size: many\n", "line 3: no peak"),
        (TITLE + HEADER + "Allocation Peak Tensor Size: 4\n", "no tensors"),
    ],
)
def test_broken_listings_of_vela(text: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / "vela.txt"
    path.write_text(text)
    with pytest.raises(BadInput, match=why):
        read_vela(path)


def test_xla_to_the_byte_and_without_false_conflicts() -> None:
    """The gradient of a transformer block: XLA's own figure for what it packs is 124,416 bytes."""
    plan = read_plan(XLA)
    assert plan.own_peak == {"temporary 67": 124416}
    found = sp.audit(XLA)
    assert not found.broken
    packed = next(m for m in found.memories if m.memory == "temporary 67")
    assert packed.peak_bytes == packed.own_bytes == packed.least_bytes == 124416
    assert packed.proven
    # What the allocations of the file add up to; constants and thread-local ones are trimmed.
    sizes = [
        int(line.split("size ")[1].split(",")[0])
        for line in XLA.read_text().splitlines()
        if line.startswith("allocation ")
    ]
    assert found.peak_bytes == sum(sizes)
    values = [t for t in plan.tensors if t.memory == "temporary 67"]
    assert conflicts(values)  # Values written in place: the same bytes by right.
    assert plan.steps[0] == "ps_0___d__.1"


def dump(tmp_path: Path, values: list[tuple[str, int, int, int, int]]) -> Path:
    """Files of XLA of values: name, first and last step, size and offset."""
    lines = [
        f" value: <{k} {n} @0> (size={s},offset={o}): f32[]"
        for k, (n, _, _, s, o) in enumerate(values)
    ]
    total = max(s + o for *_, s, o in values)
    head = f"BufferAssignment:\nallocation 0: size {total}, preallocated-temp:\n"
    (tmp_path / "m-buffer-assignment.txt").write_text(head + "\n".join(lines) + "\n")
    ranges = "".join(f"    {n}{{}}:{a}-{b}\n" for n, a, b, _, _ in values)
    text = f"HloLiveRange (max 9):\n  InstructionSequence:\n    0:x\n  BufferLiveRange:\n{ranges}"
    (tmp_path / "m-live-range.txt").write_text(text)
    return tmp_path / "m-buffer-assignment.txt"


def test_in_place_by_right_and_not(tmp_path: Path) -> None:
    equal = read_xla(dump(tmp_path, [("a", 0, 3, 64, 0), ("b", 3, 5, 64, 0)]))
    (merged,) = equal.inside("temporary 0")
    assert (merged.lower, merged.upper) == (0, 6)
    smaller = read_xla(dump(tmp_path, [("a", 0, 3, 128, 0), ("b", 3, 5, 64, 0)]))
    assert [(t.lower, t.upper) for t in smaller.inside("temporary 0")] == [(0, 3), (3, 6)]
    beside = read_xla(dump(tmp_path, [("a", 0, 3, 128, 0), ("b", 3, 5, 64, 64)]))
    assert len(conflicts(beside.inside("temporary 0"))) == 1
    later = read_xla(dump(tmp_path, [("a", 0, 3, 64, 0), ("b", 2, 5, 64, 0)]))
    assert len(conflicts(later.inside("temporary 0"))) == 1


def test_xla_needs_both_files(tmp_path: Path) -> None:
    path = dump(tmp_path, [("a", 0, 3, 64, 0)])
    beside = tmp_path / "m-live-range.txt"
    assert read_plan(beside) == read_plan(path)
    beside.unlink()
    with pytest.raises(BadInput, match="beside it"):
        read_plan(path)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (("BufferAssignment:", "Buffers:"), "does not begin with"),
        (("offset=0", "offset=8"), "ends behind its allocation"),
        (("<0 a @0>", "<0 c @0>"), "'c' has no live range"),
        (("value:", "valve:"), "line 3: neither an allocation nor a value"),
    ],
)
def test_broken_dumps_of_xla(change: tuple[str, str], why: str, tmp_path: Path) -> None:
    path = dump(tmp_path, [("a", 0, 3, 64, 0)])
    path.write_text(path.read_text().replace(*change))
    with pytest.raises(BadInput, match=why):
        read_xla(path)


def _said(read: Callable[[Path], ForeignPlan], path: Path) -> str:
    """What reading ends in: a plan, or one line. Any other error goes on."""
    try:
        words = read(path).tool
    except BadInput as error:
        words = str(error)
    return words if "\n" not in words else ""


@pytest.mark.parametrize("seed", range(60))
def test_bytes_that_are_changed_or_cut(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    for source in (VELA, LEGACY, XLA, DATA / "xla_block-live-range.txt"):
        for name in ("xla_block-buffer-assignment.txt", "xla_block-live-range.txt"):
            (tmp_path / name).write_bytes((DATA / name).read_bytes())
        data = bytearray(source.read_bytes())
        if seed % 3 == 0:
            del data[rng.randrange(len(data)) :]
        for _ in range(rng.randint(0, 20)):
            data[rng.randrange(len(data))] = rng.choice(b"0123456789 :-x,\n\x00\xff")
        path = tmp_path / source.name
        path.write_bytes(data)
        assert _said(read_plan, path)
