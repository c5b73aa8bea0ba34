"""Algorithms for ExecuTorch's `MemoryPlanningAlgorithmSuite` that pack exactly.

Tensors whose memory a pass has chosen (`mem_id`) stay there; what lies inside of another tensor's
storage lies there still; what subgraphs of control flow have taken is left to them. Their lifetimes
include both ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from planners.allocation.banks.model import Bank, Banked, BankPlaces, BankProblem
from planners.allocation.banks.place import place_in_banks
from planners.allocation.min_capacity import pack_tightest
from planners.allocation.problem.model import Lifetime
from planners.core.errors import BadInput
from planners.core.integers import rounded_up

DEFAULT_MEMORY = 1


def pack_memory(
    alignment: int,
    specs: Iterable[Any],
    graph_module: Any,
    graph_signature: Any = None,
    extra_padding: int = 0,
    *,
    time_limit_s: float = 20.0,
) -> Any:
    """An offset for each tensor, every memory as small as can be found: a `MemoryAlgoResult`."""
    request = _Asked.from_specs(alignment, specs, graph_module, extra_padding)
    places: dict[str, tuple[str, int]] = {}
    memories = dict.fromkeys(request.pinned.get(i.id, DEFAULT_MEMORY) for i in request.lifetimes)
    for memory in memories:
        inside = [
            i for i in request.lifetimes if request.pinned.get(i.id, DEFAULT_MEMORY) == memory
        ]
        packed = pack_tightest(inside, time_limit_s=time_limit_s / len(memories))
        places |= {id: (f"{memory}", offset) for id, offset in packed.offsets.items()}
    return request.answer(places)


@dataclass(frozen=True)
class PackMemory:
    """The same for several memories of these sizes in bytes by their number, the fastest first.

    The fewest bytes that can be found are read and written in the slow ones, never more than with
    ExecuTorch's own `BankedGreedy`, and within the time limit; call it as `pack_memory`. Raises
    `BadInput` for what fits in none.
    """

    capacities: Mapping[int, int]
    time_limit_s: float = 20.0
    __name__: str = field(default="pack_memory_in_banks", init=False)

    def __post_init__(self) -> None:
        if not self.capacities or min(self.capacities) < 1 or min(self.capacities.values()) < 1:
            raise BadInput(f"banks {dict(self.capacities)}: name sizes above 0 by numbers above 0")

    def __call__(
        self,
        alignment: int,
        specs: Iterable[Any],
        graph_module: Any,
        graph_signature: Any = None,
        extra_padding: int = 0,
    ) -> Any:
        request, memory_plan = self.found(
            alignment, specs, graph_module, graph_signature, extra_padding
        )
        return request.answer(memory_plan.places)

    def found(
        self,
        alignment: int,
        specs: Iterable[Any],
        graph_module: Any,
        graph_signature: Any,
        extra_padding: int,
    ) -> tuple[_Asked, Banked]:
        """What was asked, and where all lies, with what is proven of it."""
        specs = list(specs)
        theirs = self._by_their_own(alignment, specs, graph_module, graph_signature, extra_padding)
        request = _Asked.from_specs(alignment, specs, graph_module, extra_padding)
        for id, memory in request.pinned.items():
            if memory not in self.capacities:
                raise BadInput(f"tensor {id} is to go to memory {memory}, which is none of these")
        room = {
            memory: capacity - request.taken(memory) - extra_padding
            for memory, capacity in self.capacities.items()
        }
        problem = BankProblem(
            request.lifetimes,
            [Bank(f"{memory}", size) for memory, size in room.items() if size > 0],
            request.touched,
            {id: f"{memory}" for id, memory in request.pinned.items()},
        )
        ways = [request.places_of(theirs)] if theirs is not None and request.aligned else []
        placed = place_in_banks(problem, known=ways, time_limit_s=self.time_limit_s)
        if placed.status != "placed":
            sizes = ", ".join(f"{memory}: {size:,}" for memory, size in self.capacities.items())
            raise BadInput(f"memories of {sizes} bytes: no way was found to place all tensors")
        return request, placed

    def _by_their_own(self, *given: Any) -> Any:
        """What ExecuTorch finds itself; None where that is nothing."""
        try:
            from executorch.exir import banked_memory_planning as banked
        except ImportError:  # It came with 1.5.
            return None
        banks = [banked.Bank(f"{k}", size, k) for k, size in self.capacities.items()]
        try:
            return banked.BankedGreedy(banked.TargetMemoryMap(banks))(*given)
        except banked.BankPlacementError:
            return None


@dataclass(frozen=True)
class _Asked:
    """Tensors as lifetimes by number, those inside of others aside, and what is taken already."""

    specs: Mapping[str, Any]
    inside: Sequence[Any]
    lifetimes: Sequence[Lifetime]
    touched: Mapping[str, int]
    pinned: Mapping[str, int]
    reserved: Sequence[int]
    aligned: bool
    padding: int

    @classmethod
    def from_specs(cls, alignment: int, specs: Iterable[Any], module: Any, padding: int) -> _Asked:
        every = sorted(specs, key=_order)
        for spec in every:
            spec.realign(alignment)
        by_id = {str(k): s for k, s in enumerate(s for s in every if s.storage_base is None)}
        # An offset is a multiple of the alignment where all sizes are.
        lifetimes = [
            Lifetime(
                id,
                spec.lifetime[0],
                spec.lifetime[1] + 1,
                rounded_up(spec.allocated_memory, alignment),
            )
            for id, spec in by_id.items()
        ]
        uses = _uses(module)
        touched = {id: spec.allocated_memory * uses.get(spec, 1) for id, spec in by_id.items()}
        pinned = {id: spec.mem_id for id, spec in by_id.items() if spec.mem_id is not None}
        reserved = getattr(module, "input_mem_buffer_sizes", None) or []
        aside = [spec for spec in every if spec.storage_base is not None]
        taken = [rounded_up(size, alignment) for size in reserved]
        aligned = taken == [*reserved]
        return cls(by_id, aside, lifetimes, touched, pinned, taken, aligned, padding)

    def taken(self, memory: int) -> int:
        """Bytes at the beginning of a memory that subgraphs have."""
        return self.reserved[memory] if memory < len(self.reserved) else 0

    def places_of(self, result: Any) -> BankPlaces:
        """Another algorithm's answer, as places behind what is taken."""
        by_id = {id: result.spec_dict[spec] for id, spec in self.specs.items()}
        return {id: (f"{r.mem_id}", r.mem_offset - self.taken(r.mem_id)) for id, r in by_id.items()}

    def answer(self, places: BankPlaces) -> Any:
        """As ExecuTorch takes it. One object a memory: objects are greedy's own affair."""
        from executorch.exir.memory_planning import MemoryAlgoResult, SpecAllocResult

        size = {item.id: item.size_bytes for item in self.lifetimes}
        numbered = {id: (int(memory), offset) for id, (memory, offset) in places.items()}
        used = {memory for memory, _ in numbered.values()}
        most = max(used, default=DEFAULT_MEMORY)
        sizes = [0] * max(2, most + 1, len(self.reserved))
        for memory in range(len(sizes)):
            sizes[memory] = self.taken(memory)
        results = {}
        for id, (memory, offset) in numbered.items():
            at = self.taken(memory) + offset
            results[self.specs[id]] = SpecAllocResult(memory, 0, at)
            sizes[memory] = max(sizes[memory], at + size[id])
        left = list(self.inside)
        while left:
            ready = [spec for spec in left if spec.storage_base in results]
            if not ready:
                raise BadInput(f"{len(left)} tensors lie inside of others that are not planned")
            for spec in ready:
                base = results[spec.storage_base]
                at = base.mem_offset + spec.storage_base_offset
                results[spec] = SpecAllocResult(base.mem_id, 0, at)
            left = [spec for spec in left if spec not in results]
        padded = [n + self.padding if k in used else n for k, n in enumerate(sizes)]
        return MemoryAlgoResult(results, padded)


def _uses(module: Any) -> Mapping[Any, int]:
    """How often each tensor's storage is read or written, by its spec, as far as a graph says.

    The users of what allocates a tensor write it, those of what returns it read it.
    """
    uses: Counter[Any] = Counter()
    for node in getattr(getattr(module, "graph", None), "nodes", ()):
        given = node.meta.get("spec")
        for spec in given if isinstance(given, (list, tuple)) else [given]:
            while getattr(spec, "storage_base", None) is not None:
                spec = spec.storage_base
            if spec is not None:
                uses[spec] += len(node.users) + (node.op == "placeholder")
    return uses


def _order(spec: Any) -> tuple[Any, ...]:
    """The same order in each process: ExecuTorch hands over a set."""
    return (*spec.lifetime, -spec.allocated_memory, tuple(map(str, spec.shape)), str(spec.dtype))
