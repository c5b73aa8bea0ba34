"""The verdict: against brute force on small plans, and what it says of plans made by hand."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest

import planners as sp
from planners.allocation import Lifetime, cp_sat
from planners.allocation.problem.instance import reduce
from planners.audits.conflicts import conflicts
from planners.audits.foreign import ForeignPlan, ForeignTensor
from planners.audits.verdict.audit import audit_plan
from planners.cli import main
from planners.core.progress import Clock

Spillway = Callable[..., tuple[int, str, str]]
HOLE = """id,lower,upper,size,offset
a,0,3,100,0
b,1,4,50,300
c,2,5,30,150
d,4,6,200,180
"""


@pytest.fixture
def spillway(capfd: pytest.CaptureFixture[str]) -> Spillway:
    """Run the command; its exit code, standard output and standard error."""

    def run(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stop:
            main([str(a) for a in arguments])
        out, err = capfd.readouterr()
        return int(stop.value.code or 0), out, err

    return run


@pytest.fixture
def hole(tmp_path: Path) -> Path:
    path = tmp_path / "hole.csv"
    path.write_text(HOLE)
    return path


def least_extent(tensors: tuple[ForeignTensor, ...]) -> int:
    """By putting them down in every order, each on every aligned address that others leave."""
    best = sum(t.size_bytes + t.alignment for t in tensors)
    for order in permutations(tensors):
        placed: list[ForeignTensor] = []
        for tensor in order:
            rivals = [o for o in placed if o.lower < tensor.upper and tensor.lower < o.upper]
            at = 0
            while any(
                at < (o.offset or 0) + o.size_bytes and (o.offset or 0) < at + tensor.size_bytes
                for o in rivals
            ):
                at += tensor.alignment
            placed.append(replace(tensor, offset=at))
        best = min(best, max(t.stop for t in placed if t.size_bytes))
    return best


@pytest.mark.parametrize("seed", range(40))
def test_random_plans_against_brute_force(seed: int) -> None:
    """Putting blocks down in every order reaches every packing pushed down: the least is exact."""
    if cp_sat.available():
        cp_sat.solve(reduce([Lifetime("a", 0, 1, 1)], 1)[0], Clock(60))  # To import it takes long.
    rng = random.Random(seed)
    tensors = []
    for k in range(rng.randint(1, 6)):
        lower = rng.randrange(5)
        size, alignment = rng.randint(1, 12), rng.choice([1, 1, 4]) if seed % 2 else 4
        upper, at = lower + rng.randint(1, 4), alignment * rng.randrange(12)
        tensors.append(ForeignTensor(f"t{k}", lower, upper, size, at, alignment))
    plan = ForeignPlan("a tool", "a file", tuple(tensors))
    found = audit_plan(plan)
    (memory,) = found.memories
    live = [sum(t.size_bytes for t in tensors if t.lower <= s < t.upper) for s in range(10)]
    assert memory.floor_bytes == max(live)
    assert memory.worst_step == live.index(max(live))
    assert found.peak_bytes == max(t.stop for t in tensors)
    assert found.proven
    assert found.least_bytes == least_extent(tuple(tensors))
    assert found.broken == bool(conflicts(tensors))
    better = found.better().tensors
    assert not conflicts(better)
    assert not any((t.offset or 0) % t.alignment for t in better)
    assert max(t.stop for t in better) == found.least_bytes
    assert {b.id for b in memory.blame} == {t.id for t in tensors if t.stop > found.least_bytes}
    binding = tuple(t for t in tensors if t.id in memory.binding)
    needed = least_extent(binding) if memory.packing else sum(t.size_bytes for t in binding)
    assert needed == (found.least_bytes if memory.packing else memory.floor_bytes)


def test_a_hole_is_blamed_on_what_lies_above_it(hole: Path) -> None:
    found = sp.audit(hole)
    assert (found.peak_bytes, found.floor_bytes, found.least_bytes) == (380, 230, 230)
    assert found.proven
    assert found.sentence().startswith(
        "CSV: 65.2% above the proven minimum: 380 bytes where 230 do; 2 tensors end higher"
    )
    assert [(b.id, b.stop, b.live_bytes) for b in found.memories[0].blame] == [
        ("d", 380, 230),
        ("b", 350, 180),
    ]
    assert found.binding == ("d", "c")


def test_what_is_at_its_minimum_says_so(tmp_path: Path) -> None:
    path = tmp_path / "good.csv"
    path.write_text("id,lower,upper,size,offset\na,0,2,8,0\nb,1,3,8,8\n")
    found = sp.audit(path)
    assert found.sentence() == "CSV: at the proven minimum of 16 bytes: as many are live at once"
    assert found.better().tensors == found.plan.tensors


def test_without_addresses_there_is_a_least_only(tmp_path: Path) -> None:
    path = tmp_path / "bare.csv"
    path.write_text("id,lower,upper,size\na,0,2,8\nb,1,3,8\n")
    found = sp.audit(path)
    assert found.peak_bytes is None
    assert "no addresses in the file; the proven minimum of these lifetimes is 16" in (
        found.sentence()
    )
    assert found.memories[0].unplaced == 2


def test_conflicts_and_what_is_not_aligned() -> None:
    one, other = ForeignTensor("one", 0, 2, 8, 0, 4), ForeignTensor("other", 1, 3, 8, 4, 4)
    found = audit_plan(ForeignPlan("t", "f", (one, other), ("load", "add", "mul")))
    assert found.broken
    assert "broken: 1 pair of tensors shares bytes" in found.sentence()
    assert "'one' and 'other' in step 1 (add), 4 bytes from 4" in found.sentence()
    found = audit_plan(ForeignPlan("t", "f", (one, replace(other, offset=9))))
    assert "1 tensor is not aligned: 'other'" in found.sentence()


def test_memories_and_aliases() -> None:
    tensors = (
        ForeignTensor("a", 0, 2, 8, 0, 1, "fast", "x"),
        ForeignTensor("b", 1, 3, 8, 0, 1, "fast", "x"),
        ForeignTensor("c", 0, 3, 8, 16, 1, "fast"),
        ForeignTensor("d", 0, 3, 90, 0, 1, "slow"),
    )
    plan = ForeignPlan("t", "f", tensors, own_peak={"fast": 24, "slow": 90})
    found = audit_plan(plan)
    assert [m.memory for m in found.memories] == ["slow", "fast"]
    assert (found.peak_bytes, found.least_bytes, found.broken) == (114, 106, False)
    assert [t.offset for t in found.better().tensors] in ([0, 0, 8, 0], [8, 8, 0, 0])
    assert audit_plan(plan, memory="slow").least_bytes == 90
    with pytest.raises(sp.UnknownName, match="unknown memory 'flash'"):
        audit_plan(plan, memory="flash")


def test_no_time_still_gives_a_right_answer() -> None:
    rng = random.Random(3)
    tensors = tuple(
        ForeignTensor(f"t{k}", k, k + rng.randint(1, 30), 64 * rng.randint(1, 999))
        for k in range(300)
    )
    found = audit_plan(ForeignPlan("t", "f", tensors), time_limit=0.01)
    assert found.floor_bytes <= found.bound_bytes <= found.least_bytes
    assert not conflicts(found.better().tensors)


def test_the_command_prints_the_sentence_first(hole: Path, spillway: Spillway) -> None:
    code, out, _ = spillway("audit", hole)
    assert code == 0
    assert out.splitlines()[0] == sp.audit(hole).sentence()
    assert "d of 200 bytes ends at 380; at most 230 are live while it is" in out


def test_json_has_what_a_script_needs(hole: Path, spillway: Spillway) -> None:
    code, out, _ = spillway("audit", hole, "--json")
    facts = json.loads(out)
    assert code == 0
    assert facts["tool"] == "CSV"
    assert facts["tensors"] == 4
    assert facts["conflicts"] == []
    assert facts["peak_bytes"] == 380
    assert facts["floor_bytes"] == facts["least_bytes"] == 230
    assert facts["proven"] is True
    assert facts["binding"] == ["d", "c"]


def test_a_limit_ends_a_build(hole: Path, spillway: Spillway) -> None:
    assert spillway("audit", hole, "--max-peak", 380)[0] == 0
    code, out, err = spillway("audit", hole, "--max-peak", 360, "--json")
    assert code == 3
    assert [tensor["id"] for tensor in json.loads(out)["blame"]] == ["d"]
    assert err == "spillway: hole.csv: 380 bytes are more than 360: 'd' ends at 380\n"
    code, _, err = spillway("audit", hole, "--max-peak", 200)
    assert code == 3
    assert "no placement of these lifetimes needs less than 230" in err


def test_a_broken_plan_ends_a_build(hole: Path, spillway: Spillway) -> None:
    hole.write_text(HOLE.replace("150", "90"))
    code, _, err = spillway("audit", hole, "--max-peak", "1MiB")
    assert code == 3
    assert "broken: 1 pair of tensors shares bytes" in err
    assert spillway("audit", hole)[0] == 0


def test_the_better_plan_is_written(hole: Path, spillway: Spillway, tmp_path: Path) -> None:
    better = tmp_path / "better.csv"
    code, _, _ = spillway("audit", hole, "--out", better)
    assert code == 0
    assert better.read_text().splitlines()[0] == "id,lower,upper,size,offset"
    found = sp.audit(better)
    assert not found.broken
    assert found.peak_bytes == 230
    again = [(t.id, t.lower, t.upper, t.size_bytes) for t in found.plan.tensors]
    assert again == [(t.id, t.lower, t.upper, t.size_bytes) for t in sp.audit(hole).plan.tensors]
    assert spillway("audit", hole, "--out", hole)[0] == 2
    assert hole.read_text() == HOLE


def test_what_is_no_plan(spillway: Spillway, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("nothing of the kind")
    code, out, err = spillway("audit", path)
    assert (code, out) == (2, "")
    assert err.startswith("spillway: ")
    assert "not a plan that can be audited" in err
    assert err.count("\n") == 1
    assert spillway("audit", tmp_path / "absent.txt")[0] == 2
