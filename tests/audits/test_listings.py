"""Listings of Vela and XLA: real ones (trimmed), made by hand, and broken."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

import planners as sp
from planners.audits.conflicts import conflicts
from planners.audits.foreign import ForeignPlan
from planners.audits.readers.by_format import read_plan
from planners.audits.readers.vela import read_vela
from planners.audits.readers.xla import read_xla
from planners.core.errors import BadInput

DATA = Path(__file__).parent / "data"
VELA, LEGACY = DATA / "vela_micro_speech.txt", DATA / "vela_micro_speech_legacy.txt"
XLA = DATA / "xla_block-buffer-assignment.txt"
LOOPS = DATA / "xla_loops-buffer-assignment.txt"
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


def test_what_vela_makes_of_a_softmax_is_called_so() -> None:
    """Both of its compilers; of 32 bits is what has four times the map's bytes and all of it."""
    roles = {t.name: t.role for t in read_vela(VELA).tensors}
    assert roles["add_1_softmax_2"] == "a map of 32 bits of the softmax at add_1"
    assert roles["add_1_softmax_4"] == "within the softmax at add_1"
    assert roles["add_1"] == roles["Relu"] == ""
    older = {t.name: t.role for t in read_vela(LEGACY).tensors}
    assert older["labels_softmax_sub1_tens0"] == "within the softmax at labels"
    assert older["Relu"] == ""


def test_a_tensor_that_is_called_like_a_step_of_a_softmax_is_none(tmp_path: Path) -> None:
    rows = "  0 -  1:  0x0 - 0x10:  16:  16: NHWC : a_softmax_2\n"
    path = tmp_path / "vela.txt"
    path.write_text(TITLE + HEADER + rows + "Allocation Peak Tensor Size: 16 bytes\n")
    assert [t.role for t in read_vela(path).tensors] == [""]


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


def dump(tmp_path: Path, values: list[tuple[str, int, int, int, int]], phi: str = "") -> Path:
    """Files of XLA of values: name, first and last step, size and offset. `phi`: merged."""
    lines = [
        f" value: <{k} {n}{' (phi)' * (n in phi)} @0> (size={s},offset={o}): f32[]"
        for k, (n, _, _, s, o) in enumerate(values)
    ]
    total = max(s + o for *_, s, o in values)
    head = f"BufferAssignment:\nallocation 0: size {total}, preallocated-temp:\n"
    (tmp_path / "m-buffer-assignment.txt").write_text(head + "\n".join(lines) + "\n")
    ranges = "".join(f"    {n}{{}}:{a}-{b}\n" for n, a, b, _, _ in values)
    text = f"HloLiveRange (max 9):\n  InstructionSequence:\n    0:x\n  BufferLiveRange:\n{ranges}"
    (tmp_path / "m-live-range.txt").write_text(text)
    return tmp_path / "m-buffer-assignment.txt"


@pytest.mark.parametrize(
    ("name", "bordered"),
    [
        *(("pad", True), ("pad.12", True), ("wrapped_pad", True), ("sine_pad_fusion.3", True)),
        *(("pad_maximum_fusion", False), ("padded", False), ("wrapped_sine", False)),
        *(("notepad", False), ("reduce-window.pad_x", False)),
    ],
)
def test_a_map_with_its_border_is_called_so(name: str, bordered: bool, tmp_path: Path) -> None:
    """By the name of what writes it: in a fusion, what comes last."""
    (found,) = read_xla(dump(tmp_path, [(name, 0, 3, 64, 0)])).inside("temporary 0")
    assert found.role == ("a map with its border" if bordered else "")


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


def test_loops_in_loops_and_branches_that_end_at_different_steps() -> None:
    """XLA's report beside it: 1,408 bytes in all. In a counted loop a `while` and a `cond`."""
    found = sp.audit(LOOPS)
    assert not found.broken
    assert found.peak_bytes == 1408
    plan = read_xla(LOOPS)
    assert plan.own_peak == {"temporary 10": 600}
    lives = {t.name: (t.lower, t.upper) for t in plan.tensors}
    # The tuples of both ends of the branch, of what it gives, and of the inner loop.
    assert [lives[n] for n in ("tuple.12{}", "tuple.13{}", "cond.0.clone{}", "while.1{}")] == [
        *((37, 39), (42, 44), (43, 45), (26, 28))
    ]
    places = {t.name: t.offset for t in found.better().tensors}
    for one in (
        ("copy.14", "arg_tuple.7{0}", "arg_tuple.5{0}", "wrapped_add", "while.16{0}"),
        ("tuple.9{}", "arg_tuple.4{}", "arg_tuple.2{}", "tuple.11{}", "while.1{}"),
        ("tuple.12{}", "tuple.13{}", "cond.0.clone{}"),
    ):
        assert len({places[name] for name in one}) == 1


def test_what_a_loop_carries_stays_at_one_address(tmp_path: Path) -> None:
    """Apart, all would fit in 192 bytes: `y` where the loop's value was, which then moves.

    At one address it is in the way of both others, which are in each other's: 256, proven.
    """
    values = [("c", 0, 1, 64, 128), ("x", 0, 3, 128, 0), ("y", 2, 5, 64, 192), ("w", 4, 6, 64, 128)]
    carried = sp.audit(dump(tmp_path, values, phi="cw"))
    assert not carried.broken
    assert (carried.peak_bytes, carried.least_bytes, carried.bound_bytes) == (256, 256, 256)
    assert sp.audit(dump(tmp_path, values)).least_bytes == 192
    values[2] = ("y", 2, 5, 64, 256)
    higher = sp.audit(dump(tmp_path, values, phi="w"))
    assert (higher.peak_bytes, higher.least_bytes) == (320, 256)
    places = {t.name: t.offset for t in higher.better().tensors}
    assert places["c"] == places["w"]
    # Others may use its bytes while it does not live.
    values[2] = ("y", 2, 3, 64, 128)
    assert not sp.audit(dump(tmp_path, values, phi="w")).broken


def test_the_folder_of_a_dump(tmp_path: Path) -> None:
    path = dump(tmp_path, [("a", 0, 3, 64, 0)])
    assert read_plan(tmp_path) == read_plan(path)
    (tmp_path / "small-buffer-assignment.txt").write_text("BufferAssignment:\n")
    with pytest.raises(BadInput, match="has 2 .* the largest m-buffer-assignment.txt: name one"):
        read_plan(tmp_path)
    with pytest.raises(BadInput, match="without a …-buffer-assignment.txt of XLA"):
        read_plan(DATA.parent)


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
    dumps = sorted(DATA.glob("xla_*.txt"))
    for source in (VELA, LEGACY, *dumps):
        for path in dumps:
            (tmp_path / path.name).write_bytes(path.read_bytes())
        data = bytearray(source.read_bytes())
        if seed % 3 == 0:
            del data[rng.randrange(len(data)) :]
        for _ in range(rng.randint(0, 20)):
            data[rng.randrange(len(data))] = rng.choice(b"0123456789 :-x,\n\x00\xff")
        path = tmp_path / source.name
        path.write_bytes(data)
        assert _said(read_plan, path)
