"""Packing for ExecuTorch, without it: its types are few, and stand in for themselves here."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from itertools import product
from random import Random
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from planners.backends.executorch import PackMemory, pack_memory
from planners.core.errors import BadInput

ALIGNMENT = 16


@dataclass(eq=False)
class Spec:
    """What of a `TensorSpec` memory planning reads."""

    lifetime: list[int]
    size: int
    mem_id: int | None = None
    storage_base: Spec | None = None
    storage_base_offset: int = 0
    alignment: int = 1
    shape: tuple[int, ...] = ()
    dtype: str = "float32"

    @property
    def allocated_memory(self) -> int:
        return -(-self.size // self.alignment) * self.alignment

    def realign(self, alignment: int) -> int:
        self.alignment = alignment
        return self.allocated_memory


@dataclass
class Given:
    """`SpecAllocResult`."""

    mem_id: int
    mem_obj_id: int
    mem_offset: int


@dataclass
class Answered:
    """`MemoryAlgoResult`."""

    spec_dict: dict[Spec, Given] = field(default_factory=dict)
    bufsizes: list[int] = field(default_factory=list)


@pytest.fixture(autouse=True)
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("executorch", "executorch.exir", "executorch.exir.memory_planning"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    module = sys.modules["executorch.exir.memory_planning"]
    monkeypatch.setattr(module, "SpecAllocResult", Given, raising=False)
    monkeypatch.setattr(module, "MemoryAlgoResult", Answered, raising=False)


def drawn(rng: Random, count: int, memories: tuple[int | None, ...] = (None,)) -> list[Spec]:
    specs = []
    for _ in range(count):
        start = rng.randint(0, 12)
        life = [start, start + rng.randint(0, 5)]
        specs.append(Spec(life, rng.randint(1, 200), rng.choice(memories)))
    return specs


def checked(specs: list[Spec], answer: Any, padding: int = 0) -> None:
    """All have a place of their own while they live, aligned, inside the sizes that are said."""
    assert answer.spec_dict.keys() == set(specs)
    for one, other in product(specs, specs):
        a, b = answer.spec_dict[one], answer.spec_dict[other]
        ends = a.mem_offset + one.allocated_memory, b.mem_offset + other.allocated_memory
        assert a.mem_offset % ALIGNMENT == 0
        assert 0 <= a.mem_offset <= ends[0] + padding <= answer.bufsizes[a.mem_id]
        apart = one.lifetime[1] < other.lifetime[0] or other.lifetime[1] < one.lifetime[0]
        if one is not other and not apart and a.mem_id == b.mem_id:
            assert a.mem_offset >= ends[1] or b.mem_offset >= ends[0]


def load(specs: list[Spec]) -> int:
    """The most bytes live at once, step by step."""
    steps = range(max(s.lifetime[1] for s in specs) + 1)
    return max(
        sum(s.allocated_memory for s in specs if s.lifetime[0] <= t <= s.lifetime[1]) for t in steps
    )


@pytest.mark.parametrize("seed", range(25))
def test_one_memory(seed: int) -> None:
    specs = drawn(Random(seed), 14)
    answer = pack_memory(ALIGNMENT, set(specs), SimpleNamespace())
    checked(specs, answer)
    assert answer.bufsizes[0] == 0
    assert len(answer.bufsizes) == 2
    assert answer.bufsizes[1] >= load(specs)
    again = pack_memory(ALIGNMENT, specs[::-1], SimpleNamespace())
    assert again.bufsizes == answer.bufsizes


def test_the_least_is_found() -> None:
    specs = [Spec([0, 1], 32), Spec([0, 0], 48), Spec([1, 2], 48), Spec([2, 3], 32)]
    answer = pack_memory(ALIGNMENT, specs, SimpleNamespace())
    checked(specs, answer)
    assert answer.bufsizes == [0, load(specs)]


@pytest.mark.parametrize("seed", range(10))
def test_memories_that_a_pass_has_chosen_stay(seed: int) -> None:
    specs = drawn(Random(seed), 14, (None, 1, 3))
    answer = pack_memory(ALIGNMENT, specs, SimpleNamespace(), None, 24)
    checked(specs, answer, 24)
    assert all(answer.spec_dict[s].mem_id == (s.mem_id or 1) for s in specs)
    assert len(answer.bufsizes) == 4
    assert answer.bufsizes[2] == 0


def test_storage_inside_of_another_and_what_subgraphs_have() -> None:
    base = Spec([0, 3], 64)
    part = Spec([1, 2], 16, storage_base=base, storage_base_offset=32)
    inner = Spec([1, 1], 8, storage_base=part, storage_base_offset=4)
    other = Spec([0, 3], 16)
    module = SimpleNamespace(input_mem_buffer_sizes=[0, 40])
    answer = pack_memory(ALIGNMENT, [inner, part, base, other], module)
    found = answer.spec_dict
    assert found[part].mem_offset == found[base].mem_offset + 32
    assert found[inner].mem_offset == found[base].mem_offset + 36
    assert min(found[base].mem_offset, found[other].mem_offset) == 48
    assert answer.bufsizes == [0, 48 + 80]
    lost = Spec([0, 1], 8, storage_base=Spec([0, 1], 8))
    with pytest.raises(BadInput, match="lie inside of others"):
        pack_memory(ALIGNMENT, [lost], SimpleNamespace())


def test_nothing_to_plan() -> None:
    answer = pack_memory(ALIGNMENT, set(), SimpleNamespace())
    assert (answer.spec_dict, answer.bufsizes) == ({}, [0, 0])


@pytest.mark.parametrize("seed", range(20))
def test_several_memories(seed: int) -> None:
    rng = Random(seed)
    specs = drawn(rng, 14, (None, None, 2))
    for spec in specs:
        spec.realign(ALIGNMENT)
    sizes = {1: rng.randint(16, load(specs)), 2: 4000}
    answer = PackMemory(sizes)(ALIGNMENT, set(specs), SimpleNamespace(), None, 0)
    checked(specs, answer)
    assert all(answer.bufsizes[k] <= size for k, size in sizes.items())
    assert all(answer.spec_dict[s].mem_id == 2 for s in specs if s.mem_id == 2)


def test_all_goes_to_the_fast_memory_where_it_fits() -> None:
    specs = drawn(Random(3), 14)
    for spec in specs:
        spec.realign(ALIGNMENT)
    answer = PackMemory({2: load(specs) + 400, 1: 10_000})(ALIGNMENT, specs, SimpleNamespace())
    checked(specs, answer)
    assert {place.mem_id for place in answer.spec_dict.values()} == {2}


def test_what_fits_nowhere_is_said() -> None:
    with pytest.raises(BadInput, match="'0' has 64 bytes, more than each memory: '2' has 32"):
        PackMemory({1: 16, 2: 32})(ALIGNMENT, [Spec([0, 1], 64)], SimpleNamespace())
    with pytest.raises(BadInput, match="'0' has 64 bytes, more than memory '1'"):
        PackMemory({1: 16, 2: 99})(ALIGNMENT, [Spec([0, 1], 64, 1)], SimpleNamespace())
    with pytest.raises(BadInput, match="memory 7, which is none of these"):
        PackMemory({1: 16})(ALIGNMENT, [Spec([0, 1], 4, 7)], SimpleNamespace())
    for sizes in ({}, {0: 16}, {1: 0}):
        with pytest.raises(BadInput, match="above 0"):
            PackMemory(sizes)
