"""ExecuTorch programs read without ExecuTorch: places, lifetimes, views, and what is no program."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import planners as sp
from planners.audits.conflicts import conflicts
from planners.audits.foreign import ForeignPlan
from planners.audits.readers import pte, pte_lifetimes
from planners.audits.readers.pte import read_pte
from planners.core.errors import BadInput
from tests.audits.readers.pte_models import (
    BYTE,
    DELEGATE,
    JUMP,
    KERNEL,
    LONG,
    MOVE,
    VIEW,
    PteWriter,
    chain,
    drawn,
)
from tests.cases import cases


def read(writer: PteWriter, folder: Path) -> ForeignPlan:
    path = folder / "program.pte"
    path.write_bytes(writer.to_bytes())
    return read_pte(path)


def test_a_chain(tmp_path: Path) -> None:
    plan = read(chain(), tmp_path)
    assert plan.tool == "ExecuTorch"
    assert plan.steps == ("inputs", "aten::add", "aten::add", "aten::add", "outputs")
    found = [(t.lower, t.upper, t.size_bytes, t.offset, t.memory) for t in plan.tensors]
    assert found == [
        (0, 2, 16, 0, "memory 1"),
        (1, 3, 16, 32, "memory 1"),
        (2, 4, 16, 0, "memory 1"),
        (3, 5, 16, 32, "memory 1"),
    ]
    assert plan.own_peak == {"memory 1": 64}
    assert [t.name for t in plan.tensors][1:3] == ["aten::add 1", "aten::add 2"]
    assert conflicts(plan.tensors) == []


@pytest.mark.parametrize("seed", range(30))
def test_drawn_programs(seed: int, tmp_path: Path) -> None:
    writer, spans = drawn(seed)
    plan = read(writer, tmp_path)
    assert {int(t.id): (t.lower, t.upper - 1) for t in plan.tensors} == spans
    for tensor in plan.tensors:
        value = writer.values[int(tensor.id)]
        assert value.place is not None
        memory, offset = value.place
        assert (tensor.memory, tensor.offset) == (f"memory {memory}", offset)
        assert tensor.size_bytes == -(-8 * value.shape[0] // 16) * 16


def test_sizes_of_types_and_far_offsets(tmp_path: Path) -> None:
    w = PteWriter(sizes=[0, 2**33, 64])
    far = w.value((3, 5), (1, 2**32 + 48), LONG)
    near = w.value((3, 5), (2, 0), BYTE)
    w.value((7,), (1, 0), dynamism=2)  # finds its place as it runs
    w.call("aten::abs", far, near)
    w.inputs, w.outputs = [far], [near]
    plan = read(w, tmp_path)
    found = [(t.size_bytes, t.offset) for t in plan.tensors]
    assert found == [(128, 2**32 + 48), (16, 0)]
    assert plan.own_peak == {"memory 1": 2**33, "memory 2": 64}


def test_views_are_no_conflict(tmp_path: Path) -> None:
    w = PteWriter(sizes=[0, 64])
    x, flat, y = w.value((2, 2), (1, 0)), w.value((4,), (1, 0)), w.value((4,), (1, 16))
    again = w.value((4, 1), (1, 0))
    size = w.value(items=())
    w.call(VIEW, x, size, flat)
    w.call(VIEW, flat, size, again)
    w.call("aten::add", flat, again, y)
    w.inputs, w.outputs = [x], [y]
    plan = read(w, tmp_path)
    assert conflicts(plan.tensors) != []
    merged = plan.inside("memory 1")
    assert conflicts(merged) == []
    assert [(t.lower, t.upper) for t in merged] == [(0, 4), (3, 5)]


def test_views_that_no_instruction_makes_are_no_conflict(tmp_path: Path) -> None:
    """A kernel reads one of them, named once, before anything has written it."""
    w = PteWriter(sizes=[0, 64])
    x, made, flat = w.value((2, 2), (1, 32)), w.value((2, 2), (1, 0)), w.value((4,), (1, 0))
    y, z, over = w.value((4,), (1, 16)), w.value((4,), (1, 48)), w.value((4,), (1, 0))
    w.call("aten::abs", x, made, made)
    w.call("aten::exp", flat, y, y)
    w.call("aten::add", made, y, z, z)
    w.call("aten::neg", z, over, over)  # It is written there: `made` is over.
    w.inputs, w.outputs = [x], [over]
    plan = read(w, tmp_path)
    merged = plan.inside("memory 1")
    assert conflicts(merged) == []
    assert {t.alias for t in plan.tensors if t.offset == 0} == {f"bytes of {made}", ""}
    w.call("aten::mul", made, over, z, z)  # Now it is not.
    again = read(w, tmp_path)
    assert len(conflicts(again.inside("memory 1"))) == 1


def test_state_is_live_all_along(tmp_path: Path) -> None:
    w = PteWriter(sizes=[0, 64])
    x, cache = w.value((4,), (1, 0)), w.value((4,), (1, 16), name="cache")
    y = w.value((4,), (1, 32))
    began = w.value((4,), (1, 48), constant=3)
    w.call("aten::add", x, cache, y)
    w.call("aten::mul", y, began, y)
    w.inputs, w.outputs = [x], [y]
    plan = read(w, tmp_path)
    assert [(t.lower, t.upper) for t in plan.tensors] == [(0, 2), (0, 4), (1, 4), (0, 4)]
    assert plan.tensors[1].name == "cache"


def test_a_weight_that_is_transposed_in_each_run_is_called_so(tmp_path: Path) -> None:
    """As ExecuTorch 1.5.1 writes a linear layer: the copy of its weight lies in the arena."""
    w = PteWriter(sizes=[0, 96])
    weight, named = w.value((2, 4), constant=1), w.value((2, 2), constant=2, name="head.weight")
    x, turned, y = w.value((1, 4), (1, 0)), w.value((4, 2), (1, 16)), w.value((1, 2), (1, 48))
    other, z, moved = (w.value((2, 2), (1, 16 * k)) for k in (1, 4, 5))
    w.call("aten::permute_copy", weight, turned)
    w.call("aten::mm", x, turned, y)
    w.call("aten::t_copy", named, other)
    w.call("aten::mm", y, other, z)
    w.call("aten::permute_copy", z, moved)  # a map: the network itself turns it
    w.inputs, w.outputs = [x], [moved]
    plan = read(w, tmp_path)
    roles = {t.id: t.role for t in plan.tensors if t.role}
    assert roles == {
        f"{turned}": f"a transposed copy of constant {weight}",
        f"{other}": "a transposed copy of head.weight",
    }
    found = sp.audit(plan)
    assert [t.size_bytes for t in found.with_roles] == [32, 16]
    assert found.facts()["roles"][0]["role"] == f"a transposed copy of constant {weight}"
    assert found.name(f"{turned}").endswith(f"(a transposed copy of constant {weight})")


def test_what_is_copied_over_state_is_called_so(tmp_path: Path) -> None:
    """State is not written in place: a cache is copied whole, written into, and copied back."""
    w = PteWriter(sizes=[0, 256])
    cache, count = w.value((8,), (1, 0)), w.value((4,), (1, 32))
    x, new, more, seen = (w.value((n,), (1, 48 + 32 * k)) for k, n in enumerate((8, 8, 4, 1)))
    w.call("aten::index_put", cache, x, new)
    w.call("aten::add", count, x, more)
    w.call("aten::sum", new, seen)
    w.call("aten::copy_", cache, new, cache)
    w.call("aten::copy_", count, more, count)
    w.call("aten::copy_", count, seen, count)  # one number, spread: no next content by itself
    w.inputs, w.outputs = [x], [seen]
    roles = {t.id: t.role for t in read(w, tmp_path).tensors if t.role}
    assert roles == {
        f"{new}": f"a copy of state {cache}",
        f"{more}": f"the next content of state {count}",
    }


@pytest.mark.parametrize("seed", range(cases(40)))
def test_roles_in_drawn_programs_are_those_they_were_drawn_with(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    w, roles = PteWriter(), dict[str, str]()

    def placed(count: int) -> int:
        w.sizes[1] += 64
        return w.value((count,), (1, w.sizes[1] - 64))

    w.inputs = [at := placed(4)]
    for _ in range(rng.randint(1, 12)):
        what, made = rng.choice(("plain", "turned", "weight", "cache", "state")), placed(4)
        if what == "plain":
            w.call("aten::relu", at, made)
        elif what == "turned":
            w.call(rng.choice(("aten::permute_copy", "aten::t_copy")), at, made)
        elif what == "weight":
            weight = w.value((4,), constant=7)
            copy = placed(4)
            w.call("aten::permute_copy", weight, copy)
            w.call("aten::mm", at, copy, made)
            roles[f"{copy}"] = f"a transposed copy of constant {weight}"
        else:
            state, new = placed(4), placed(4)
            w.call("aten::index_put" if what == "cache" else "aten::add", state, at, new)
            w.call("aten::mul", new, new, made)
            w.call("aten::copy_", state, new, state)
            is_of = "a copy" if what == "cache" else "the next content"
            roles[f"{new}"] = f"{is_of} of state {state}"
        at = made
    w.outputs = [at]
    assert {t.id: t.role for t in read(w, tmp_path).tensors if t.role} == roles


def test_what_a_loop_names_is_live_in_all_of_it(tmp_path: Path) -> None:
    w = PteWriter(sizes=[0, 64])
    x, one, two, y = (w.value((4,), (1, 16 * k)) for k in range(4))
    w.call("first", x, one)
    w.call("second", one, two)
    w.call("third", two, two)
    w.calls.append((JUMP, "", (two, 1)))
    w.call("last", two, y)
    w.inputs, w.outputs = [x], [y]
    spans = {t.id: (t.lower, t.upper) for t in read(w, tmp_path).tensors}
    assert spans == {"0": (0, 2), "1": (1, 5), "2": (2, 6), "3": (5, 7)}


def test_what_is_read_before_it_is_written_is_state(tmp_path: Path) -> None:
    """By a kernel, by one that writes in place, in a list; not what a kernel returns."""
    w = PteWriter(sizes=[0, 256])
    x, y, z, *late = (w.value((4,), (1, 16 * k)) for k in range(7))
    given = w.value(items=(y, late[2]))
    w.call("aten::abs.out", x, y, y)
    w.call("aten::add.out", late[0], y, z, z)
    w.call("aten::index_put_", late[1], y, late[1])
    w.call("aten::cat.out", given, z, z)
    w.call("aten::add.out", x, late[3], late[3], late[3])  # as what is given and what is written
    w.inputs, w.outputs = [x], [z]
    spans = {int(t.id): (t.lower, t.upper) for t in read(w, tmp_path).tensors}
    assert [spans[n] for n in late] == [(0, 7)] * 4
    assert [spans[n] for n in (x, y, z)] == [(0, 6), (1, 5), (2, 7)]


def test_a_view_of_an_input_or_of_state_is_no_state_of_its_own(tmp_path: Path) -> None:
    w = PteWriter(sizes=[0, 64])
    x, flat, cache = w.value((2, 2), (1, 0)), w.value((4,), (1, 0)), w.value((4,), (1, 16))
    rows, y = w.value((2, 2), (1, 16)), w.value((4,), (1, 32))
    w.call("aten::add.out", flat, rows, y, y)
    w.call("aten::copy_", cache, y, cache)
    w.inputs, w.outputs = [x], [y]
    found = [(t.lower, t.upper, t.offset) for t in read(w, tmp_path).inside("memory 1")]
    assert found == [(0, 2, 0), (0, 4, 16), (1, 4, 32)]


def test_what_a_delegate_may_write_is_state_where_nothing_else_has_its_bytes(
    tmp_path: Path,
) -> None:
    w = PteWriter(sizes=[0, 128])
    x, state, before, one, two, y = (w.value((4,), (1, 16 * k)) for k in range(6))
    later = w.value((4,), (1, 16 * one))
    w.call("aten::abs.out", x, before, before)
    w.calls.append((DELEGATE, "XnnpackBackend", (state, before, one, two, y)))
    w.call("aten::add.out", y, two, later, later)
    w.inputs, w.outputs = [x], [later]
    plan = read(w, tmp_path)
    spans = {int(t.id): (t.lower, t.upper) for t in plan.tensors}
    assert spans[state] == spans[two] == (0, 5)  # read in front of what is there; cannot be told
    assert spans[one] == (2, 3)  # its bytes are another's later
    assert spans[y] == (2, 4)  # a delegate makes what it names last
    assert "1 tensors that a delegate names first" in plan.notes[-1]


def test_state_of_one_method_lives_through_the_others(tmp_path: Path) -> None:
    """ExecuTorch 1.5.1 gives both places from 0 on: its second method overwrites the first's
    count."""
    first, second = (PteWriter(sizes=[0, size], name=name) for size, name in ((32, "a"), (48, "b")))
    x, count = first.value((4,), (1, 16)), first.value((4,), (1, 0))
    first.call("aten::add_", count, x, count)
    first.inputs, first.outputs = [x], [x]
    x, y, z = (second.value((4,), (1, 16 * k)) for k in (2, 0, 1))
    second.call("aten::abs.out", x, y, y)
    second.call("aten::abs.out", y, z, z)
    second.inputs, second.outputs = [x], [z]
    first.others = [second]
    plan = read(first, tmp_path)
    assert plan.steps == (
        *("a/inputs", "a/aten::add_", "a/outputs"),
        *("b/inputs", "b/aten::abs.out", "b/aten::abs.out", "b/outputs"),
    )
    assert [(t.id, t.lower, t.upper) for t in plan.tensors] == [
        *(("a/0", 0, 3), ("a/1", 0, 7), ("b/0", 3, 5), ("b/1", 4, 6), ("b/2", 5, 7)),
    ]
    assert plan.own_peak == {"memory 1": 48}
    assert [(c.one, c.other) for c in conflicts(plan.tensors)] == [("a/1", "b/1")]
    assert "its methods 'a', 'b' run in one arena" in plan.notes[0]


def test_state_that_methods_share_is_one(tmp_path: Path) -> None:
    first, second = (PteWriter(sizes=[0, 16, 16], name=name) for name in "ab")
    for each in (first, second):
        x, state = each.value((4,), (1, 0)), each.value((4,), (2, 0))
        each.call("aten::add_", state, x, state)
        each.inputs, each.outputs = [x], [x]
    first.others = [second]
    plan = read(first, tmp_path)
    assert [(t.lower, t.upper) for t in plan.inside("memory 2")] == [(0, 6)]
    assert conflicts(plan.inside("memory 2")) == []


def branching() -> tuple[PteWriter, dict[str, int]]:
    """`out` is moved from `one` or from `two`, which lie at one place, and is read at the end."""
    w = PteWriter(sizes=[0, 128])
    n = {name: w.value((4,), (1, 16 * k)) for k, name in enumerate(("x", "one", "out", "y", "z"))}
    n["two"] = w.value((4,), (1, 16))
    n["which"], n["never"] = w.value((1,), (1, 80)), w.value(false=True)
    w.call("aten::gt.out", n["x"], n["which"], n["which"])
    w.calls.append((JUMP, "", (n["which"], 5)))
    w.call("aten::sin.out", n["x"], n["one"], n["one"])
    w.calls.append((MOVE, "", (n["one"], n["out"])))
    w.calls.append((JUMP, "", (n["never"], 7)))
    w.call("aten::cos.out", n["x"], n["two"], n["two"])
    w.calls.append((MOVE, "", (n["two"], n["out"])))
    w.call("aten::abs.out", n["x"], n["y"], n["y"])
    w.call("aten::add.out", n["out"], n["y"], n["z"], n["z"])
    w.inputs, w.outputs = [n["x"]], [n["z"]]
    return w, n


def test_what_a_branch_gives_stays_where_it_was_made(tmp_path: Path) -> None:
    """A move copies no bytes: ExecuTorch 1.5.1 lets what was moved go too early."""
    w, n = branching()
    plan = read(w, tmp_path)
    spans = {int(t.id): (t.lower, t.upper) for t in plan.tensors}
    assert [spans[n[name]] for name in ("one", "two", "out")] == [(3, 10), (6, 10), (4, 5)]
    assert conflicts(plan.inside("memory 1")) == []  # Of the two branches one runs.
    w.values[n["y"]].place = (1, 16)
    found = conflicts(read(w, tmp_path).inside("memory 1"))
    assert [(c.one, c.other) for c in found] == [
        (str(n[name]), str(n["y"])) for name in ("one", "two")
    ]


def test_a_jump_that_may_not_be_taken_parts_no_branches(tmp_path: Path) -> None:
    w, n = branching()
    w.values[n["never"]].false = False
    assert len(conflicts(read(w, tmp_path).inside("memory 1"))) == 1


def test_a_view_of_what_was_moved(tmp_path: Path) -> None:
    """One that an instruction makes lies where that was made; of one that is none it is said."""
    w, n = branching()
    flat, over = w.value((4,), (1, 32)), w.value((4,), (1, 96))
    w.call("aten::neg.out", flat, over, over)
    said = read(w, tmp_path).notes
    assert any("1 tensors are views of what a branch gives" in note for note in said)
    w.calls.insert(-1, (KERNEL, VIEW, (n["out"], n["which"], flat)))
    plan = read(w, tmp_path)
    assert not any("views of what a branch" in note for note in plan.notes)
    spans = {int(t.id): (t.lower, t.upper) for t in plan.tensors}
    assert spans[n["one"]] == (3, 12)


def test_delegates_are_said(tmp_path: Path) -> None:
    w = chain()
    w.calls.append((DELEGATE, "XnnpackBackend", (0, 3)))
    plan = read(w, tmp_path)
    assert plan.steps[-2] == "delegate XnnpackBackend"
    assert len(plan.notes) == 1


def test_it_is_audited(tmp_path: Path) -> None:
    path = tmp_path / "program.pte"
    path.write_bytes(chain(6).to_bytes())
    found = sp.audit(path)
    assert (found.peak_bytes, found.floor_bytes, found.least_bytes) == (48, 32, 32)
    assert found.proven
    assert found.plan.tool == "ExecuTorch"


def test_what_is_no_program(tmp_path: Path) -> None:
    path = tmp_path / "program.pte"
    empty, immense, odd, negative = chain(), chain(), chain(), chain()
    empty.name = ""
    immense.values[0].shape = (2**31 - 1,) * 4
    odd.values[0].kind = 99
    negative.values[0].shape = (-1,)
    for data, words in (
        (b"", "does not say ET12"),
        (b"\xff\xff\0\0ET12", "is broken"),
        (empty.to_bytes(), "has no method"),
        (immense.to_bytes(), "cannot have the shape"),
        (odd.to_bytes(), "elements of type 99"),
        (negative.to_bytes(), "cannot have the shape"),
        (PteWriter().to_bytes(), "no tensors"),
    ):
        path.write_bytes(data)
        with pytest.raises(BadInput, match=words):
            read_pte(path)
    with pytest.raises(BadInput, match="cannot read"):
        read_pte(tmp_path / "missing.pte")


def test_broken_bytes_never_do_more_than_say_so(tmp_path: Path) -> None:
    rng, path = random.Random(1), tmp_path / "program.pte"
    good, said = 0, set[str]()
    turns = cases(500, 1500)
    for turn in range(turns):
        data = bytearray(drawn(turn % 5)[0].to_bytes())
        for _ in range(rng.randint(1, 5)):
            data[rng.randrange(8, len(data))] = rng.choice([0, 1, 127, 255, rng.randrange(256)])
        path.write_bytes(data[: rng.choice([len(data), rng.randrange(8, len(data))])])
        try:
            plan = read_pte(path)
            conflicts(plan.tensors)
            good += 1
        except BadInput as error:
            said.add(str(error))
    assert turns < 15 * good < 14 * turns
    assert all(text.startswith(str(path)) and "\n" not in text for text in said)


def test_what_names_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed, jumps = chain(), chain()
    many = listed.value(items=tuple(range(4)) * 10)
    listed.call("aten::cat", *[many] * 10)
    jumps.calls += [(JUMP, "", (0, 0))] * 4
    for module in (pte, pte_lifetimes):
        monkeypatch.setattr(module, "MOST_NAMED", 300)
    monkeypatch.setattr(pte, "MOST_LOOPS", 3)
    assert len(read(chain(), tmp_path).tensors) == 4
    with pytest.raises(BadInput, match="names more than 300 values"):
        read(listed, tmp_path)
    jumps.calls += [(JUMP, "", (0, 0))]
    with pytest.raises(BadInput, match="too many instructions, or jumps"):
        read(jumps, tmp_path)
    deep, lists = chain(), chain()
    deep.values[0].shape = (1,) * 65
    with pytest.raises(BadInput, match="a list of 65 entries is longer than 64"):
        read(deep, tmp_path)
    for _ in range(9):
        lists.value(items=tuple(range(4)) * 10)
    with pytest.raises(BadInput, match="lists have more than 300 values"):
        read(lists, tmp_path)
