"""`pack`: whether lifetimes fit, by the strategies of `STRATEGIES` in rounds of doubled work.

Cheap answers come first; each strategy is asked only for what is left open.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain

from planners.allocation import cp_sat, heuristics
from planners.allocation.aligned import Settled, by_themselves, settle_aligned
from planners.allocation.heuristics import Offsets, neighbours, place
from planners.allocation.in_time_order import in_time_order
from planners.allocation.interrupted import are_interrupted, settle_interrupted
from planners.allocation.problem.instance import Instance, reduce
from planners.allocation.problem.model import Lifetime, Packing, live_peak
from planners.allocation.skyline import search as skyline
from planners.core.errors import BadInput
from planners.core.method import Decision
from planners.core.portfolio import Outcome, Portfolio, Strategy
from planners.core.progress import Clock

METHOD = (
    Decision(
        "whether lifetimes fit a capacity, and where",
        "cheap answers, then searches",
        ("planners.allocation.portfolio",),
        "packed, or a set of lifetimes that does not fit",
        "STRATEGIES",
    ),
    Decision(
        "addresses that are multiples of an alignment",
        "sizes rounded down and up, and what lies between",
        ("planners.allocation.aligned",),
        "as far as sizes rounded up and down decide, and else by a solver",
        "QUESTIONS",
    ),
    Decision(
        "the least capacity",
        "capacities in rounds of doubled work",
        ("planners.allocation.min_capacity",),
        "no less is enough",
    ),
    Decision(
        "which of several memories",
        "an assignment by bytes, each memory packed exactly",
        ("planners.allocation.banks.place",),
        "no fewer bytes through the slow ones",
    ),
)
"""How lifetimes have their addresses."""

# ---- A core first: most of a network leaves room to spare, and only some of it is a puzzle -------
# The blocks that live where memory is nearly full, or those that are large, are packed alone;
# what is left is then placed around them. If that fails the core grows. A core that cannot be
# packed proves that nothing can.

SHARES = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4)
PARTS = (64, 256, 1024, 4096)  # of the capacity: what is not smaller than one of them is large
FULL = 0.95  # of all room: with less than that to spare the small ones find none around the large

Solve = Callable[[Instance], tuple[bool | None, Offsets]]


def core_first(instance: Instance, solve: Solve) -> tuple[bool | None, Offsets]:
    """Pack cores of growing size with `solve`, and the rest around them.

    True with offsets, False where a core is proved not to fit, None where nothing was settled.
    """
    loads = instance.loads()
    pile = [max(loads[a:b]) for a, b in zip(instance.start, instance.stop, strict=True)]
    near, tried = neighbours(instance.start, instance.stop), 0
    for share in SHARES:
        core = [b for b in range(len(instance)) if pile[b] >= share * instance.capacity]
        if len(core) == tried or len(core) == len(instance):
            continue
        tried = len(core)
        fits, fixed = _pack_core(instance, core, solve)
        if not fits:
            return fits, []
        offsets = _around(instance, near, fixed, lambda b: (-pile[b], -instance.size[b]))
        if offsets is not None:
            return True, offsets
    return None, []


def large_first(instance: Instance, solve: Solve) -> tuple[bool | None, Offsets]:
    """Pack the large blocks with `solve`, in no more than their load if they can be, and the rest.

    A training step has a thousand tensors of a few bytes beside those that fill the memory. True,
    False and None as `core_first` has them.
    """
    start, stop, size = instance.start, instance.stop, instance.size
    if sum(instance.loads()) > FULL * instance.capacity * instance.sections:
        return None, []
    near, tried = neighbours(start, stop), 0
    for part in PARTS:
        core = [b for b in range(len(instance)) if size[b] * part >= instance.capacity]
        if len(core) == tried or len(core) == len(instance):
            continue
        tried = len(core)
        fits, fixed = _pack_core(_at_load(instance, core), core, solve)
        if not fits:
            fits, fixed = _pack_core(instance, core, solve)
        if not fits:
            return fits, []
        offsets = _around(instance, near, fixed, lambda b: (-size[b], start[b] - stop[b], start[b]))
        if offsets is not None:
            return True, offsets
    return None, []


def _at_load(instance: Instance, core: Sequence[int]) -> Instance:
    """With no more capacity than these blocks need at once."""
    loads = [0] * (instance.sections + 1)
    for b in core:
        loads[instance.start[b]] += instance.size[b]
        loads[instance.stop[b]] -= instance.size[b]
    return replace(instance, capacity=max(accumulate(loads)))


def _around(
    instance: Instance,
    near: Sequence[Sequence[int]],
    fixed: Mapping[int, int],
    rank: Callable[[int], tuple[int, ...]],
) -> Offsets | None:
    """The blocks that are not `fixed` put down by `rank`; None where they stick out."""
    rest = sorted(set(range(len(instance))) - set(fixed), key=rank)
    for best_fit in (False, True):
        offsets = place(instance, near, rest, best_fit, fixed)
        if instance.extent(offsets) <= instance.capacity:
            return offsets
    return None


def _pack_core(
    instance: Instance, core: Sequence[int], solve: Solve
) -> tuple[bool | None, dict[int, int]]:
    lifetimes = [
        Lifetime(str(b), instance.start[b], instance.stop[b], instance.size[b]) for b in core
    ]
    fixed: dict[int, int] = {}
    for part in reduce(lifetimes, instance.capacity):
        fits, offsets = solve(part)
        if not fits:
            return fits, {}
        fixed |= {int(name): at for name, at in part.in_bytes(offsets).items()}
    return True, fixed


# --------------------------------------------------------------------------------------------------

# ---- Why nothing fits: a small set of lifetimes that by themselves do not ------------------------

TRIAL_WORK = 512  # looks at the clock: a subset that takes more to settle counts as one that fits


def overload(lifetimes: Sequence[Lifetime], time: int, capacity_bytes: int) -> tuple[str, ...]:
    """Lifetimes live at `time` that together exceed the capacity; without any one they fit."""
    live = sorted(
        (item for item in lifetimes if item.lower <= time < item.upper),
        key=lambda item: -item.size_bytes,
    )
    excess = sum(item.size_bytes for item in live) - capacity_bytes
    needed = []
    for item in reversed(live):  # the smallest go first, as long as an excess remains
        if item.size_bytes < excess:
            excess -= item.size_bytes
        else:
            needed.append(item.id)
    return tuple(reversed(needed))


def shrink(
    lifetimes: Sequence[Lifetime], conflict: Sequence[str], capacity_bytes: int, clock: Clock
) -> tuple[str, ...]:
    """A subset of `conflict` that is proved not to fit either, by leaving out ever smaller runs.

    Minimal (nothing more can be left out) if time allows and no trial takes longer than TRIAL_WORK.
    Deletion filtering, in runs as in delta debugging (Zeller and Hildebrandt, 2002).
    """
    names = set(conflict)
    kept = sorted((item for item in lifetimes if item.id in names), key=lambda item: item.lower)
    run = max(1, len(kept) // 2)
    while True:
        before = len(kept)
        kept = _leave_out_runs(kept, run, capacity_bytes, clock)
        if clock.expired() or (run == 1 and len(kept) == before):
            return tuple(item.id for item in kept)
        run = max(1, min(run, len(kept)) // 2)


def _leave_out_runs(
    kept: list[Lifetime], run: int, capacity_bytes: int, clock: Clock
) -> list[Lifetime]:
    at = 0
    while at < len(kept) and not clock.expired():
        core = _core(kept[:at] + kept[at + run :], capacity_bytes, clock.work(TRIAL_WORK))
        if core is None:
            at += run
        else:
            kept = [item for item in kept if item.id in core]
    return kept


def _core(lifetimes: Sequence[Lifetime], capacity_bytes: int, clock: Clock) -> set[str] | None:
    """The lifetimes of a part in time that is proved not to fit, or None."""
    for instance in reduce(lifetimes, capacity_bytes):
        if _proved_infeasible(instance, clock):
            return set(instance.ids)
    return None


def _proved_infeasible(instance: Instance, clock: Clock) -> bool:
    if max(instance.loads()) > instance.capacity:
        return True
    if heuristics.first_within(heuristics.in_orders(instance), clock) is not None:
        return False
    return skyline.solve(instance, clock)[0] is False


# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Verdict:
    """One portfolio part's answer: packed, proved infeasible (False), or open (None)."""

    fits: bool | None
    offsets: list[int] = field(default_factory=list)
    solver: str = ""


def pack(
    lifetimes: Sequence[Lifetime],
    capacity_bytes: int,
    *,
    time_limit_s: float = 10.0,
    explain: bool = True,
    should_stop: Callable[[], bool] | None = None,
    clock: Clock | None = None,
) -> Packing:
    """Addresses for lifetimes within `capacity_bytes`, or the proof that there are none.

    A search that is a part of another gives its `clock` in place of a limit.

    With `explain`, the conflict of an infeasible answer is made smaller in the time that is left.
    Raises BadInput for duplicate ids or a negative capacity.
    """
    _validate(lifetimes, capacity_bytes)
    clock = clock or Clock(time_limit_s, should_stop=should_stop)
    solid = [item for item in lifetimes if item.size_bytes > 0]
    if are_interrupted(solid):
        answer = settle_interrupted(solid, capacity_bytes, clock)
    elif by_themselves(solid):
        answer = _settle_all(solid, capacity_bytes, clock)
    else:
        answer = settle_aligned(solid, capacity_bytes, clock, _settle_all)
    if answer.fits is None:
        return Packing("unknown", {}, 0, (), answer.solver, clock.elapsed_s)
    if not answer.fits:
        conflict = answer.core
        if explain and answer.asked and answer.solver != "load":
            conflict = shrink(answer.asked, conflict, answer.capacity_bytes, clock)
        return Packing("infeasible", {}, 0, conflict, answer.solver, clock.elapsed_s)
    offsets = {item.id: answer.offsets.get(item.id, 0) for item in lifetimes}
    extent = max((offsets[item.id] + item.size_bytes for item in solid), default=0)
    return Packing("packed", offsets, extent, (), answer.solver, clock.elapsed_s)


def _settle_all(lifetimes: Sequence[Lifetime], capacity_bytes: int, clock: Clock) -> Settled:
    """Whether lifetimes of sizes above zero fit, their alignments left aside."""
    peak, peak_time = live_peak(lifetimes)
    if peak > capacity_bytes:
        return Settled(False, "load", {}, overload(lifetimes, peak_time, capacity_bytes))
    offsets: dict[str, int] = {}
    solvers = ["trivial"]
    for instance in reduce(lifetimes, capacity_bytes) if lifetimes else []:
        verdict = settle(instance, clock)
        if not verdict.fits:
            core = instance.ids
            return Settled(verdict.fits, verdict.solver, {}, core, lifetimes, capacity_bytes)
        offsets |= instance.in_bytes(verdict.offsets)
        solvers.append(verdict.solver)
    return Settled(True, max(solvers, key=STAGES.index), offsets)


MOST_BLOCKS = 10_000  # a search holds a set of blocks for each section: more are placed only
PROMOTIONS = 2  # orders from which what sticks out is moved forward
CORE_WORK = 64  # looks at the clock for orders and promotion of a core
MOST_CORE_WORK = 256  # in a round: a core that takes more is as hard as the whole
CP_SAT_WORK = 512  # with less work CP-SAT is not begun: it takes a second to start


class OpenPacking:
    """An instance whose load fits, and what was learnt about it: each round goes on from there."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.orders = heuristics.in_orders(instance)
        self.promoted = heuristics.promoted(instance, PROMOTIONS)
        self._searches: dict[Instance, skyline.RisingSearch] = {}

    def search(self, instance: Instance, clock: Clock) -> tuple[bool | None, Offsets]:
        """The search of the instance, or of a core, gone on with."""
        if instance not in self._searches:
            self._searches[instance] = skyline.RisingSearch(instance)
        return self._searches[instance].run(clock)

    def solve_core(self, core: Instance, clock: Clock) -> tuple[bool | None, Offsets]:
        """A core by orders and by promotion, if not before, and by the search."""
        if core not in self._searches:
            tries = chain(heuristics.in_orders(core), heuristics.promoted(core, PROMOTIONS))
            offsets = heuristics.first_within(tries, clock.work(CORE_WORK))
            if offsets is not None:
                return True, offsets
        return self.search(core, clock)


def _settled(fits: bool | None, offsets: Offsets, solver: str) -> Outcome[Verdict]:
    """What a strategy says: nothing where it is open, and else what no other can say better."""
    if fits is None:
        return Outcome()
    return Outcome(Verdict(fits, offsets, solver), bound=SETTLED)


def _by_orders(packing: OpenPacking, best: Verdict | None, clock: Clock) -> Outcome[Verdict]:
    offsets = heuristics.first_within(packing.orders, clock)
    return Outcome() if offsets is None else _settled(True, offsets, "order")


def _by_promotion(packing: OpenPacking, best: Verdict | None, clock: Clock) -> Outcome[Verdict]:
    offsets = heuristics.first_within(packing.promoted, clock)
    return Outcome() if offsets is None else _settled(True, offsets, "promotion")


def _large_first(packing: OpenPacking, best: Verdict | None, clock: Clock) -> Outcome[Verdict]:
    def solve(core: Instance) -> tuple[bool | None, Offsets]:
        fits, offsets = core_first(core, lambda inner: packing.solve_core(inner, clock))
        return (fits, offsets) if fits is not None else packing.solve_core(core, clock)

    return _unless_long(_settled(*large_first(packing.instance, solve), "large"), clock)


def _core_first(packing: OpenPacking, best: Verdict | None, clock: Clock) -> Outcome[Verdict]:
    solved = core_first(packing.instance, lambda core: packing.solve_core(core, clock))
    return _unless_long(_settled(*solved, "core"), clock)


def _unless_long(outcome: Outcome[Verdict], clock: Clock) -> Outcome[Verdict]:
    """No more is asked of what had the most work that a core is worth."""
    return replace(outcome, finished=clock.looks >= MOST_CORE_WORK)


def _search(packing: OpenPacking, best: Verdict | None, clock: Clock) -> Outcome[Verdict]:
    return _settled(*packing.search(packing.instance, clock), "search")


def _by_cp_sat(packing: OpenPacking, best: Verdict | None, clock: Clock) -> Outcome[Verdict]:
    if not cp_sat.can_begin(clock):
        return Outcome(finished=True)
    return _settled(*cp_sat.solve(packing.instance, clock), "cp-sat")


BY_ORDERS = Strategy("order", "most networks fit in one of a few orders", _by_orders)
STRATEGIES = (
    BY_ORDERS,
    Strategy("promotion", "what sticks out goes first: often enough", _by_promotion),
    Strategy("large", "small ones find room around large ones", _large_first),
    Strategy("core", "only where memory is nearly full is it a puzzle", _core_first),
    Strategy("search", "exact: finds a packing or proves that there is none", _search),
    Strategy(
        "cp-sat",
        "another way to search, for what is still open",
        _by_cp_sat,
        least_work=CP_SAT_WORK,
    ),
)
STAGES = ("trivial", *(strategy.name for strategy in STRATEGIES))
SETTLED = (0.0,)
"""The value of any answer: none is better than another."""
FIRST_WORK = 32  # looks at the clock in the first round: some hundredths of a second
QUICK_WORK = 256
"""Looks at the clock for a packing that is asked for often: some tenths of a second."""
LONG_WORK = 4096
"""The same for one that much depends on: some seconds."""


def settle(instance: Instance, clock: Clock) -> Verdict:
    """Whether an instance whose load fits can be packed, by one strategy after another."""
    if not heuristics.can_pair(instance.start, instance.stop, clock):
        return _in_time_order(instance)
    searched = len(instance) <= MOST_BLOCKS
    strategies = STRATEGIES if searched else STRATEGIES[:1]
    first_work = FIRST_WORK
    portfolio = Portfolio(strategies, lambda verdict: SETTLED, first_work=first_work)
    result = portfolio.solve(OpenPacking(instance), clock)
    return result.best or Verdict(None, solver="search" if searched else "order")


def _in_time_order(instance: Instance) -> Verdict:
    """Very many blocks are placed as they begin."""
    places = in_time_order(instance.as_lifetimes())
    offsets = [places[id] for id in instance.ids]
    fits = instance.extent(offsets) <= instance.capacity
    return Verdict(fits or None, offsets if fits else [], "order")


def _validate(lifetimes: Sequence[Lifetime], capacity_bytes: int) -> None:
    if capacity_bytes < 0:
        raise BadInput(f"capacity {capacity_bytes} is negative")
    seen: set[str] = set()
    for lifetime in lifetimes:
        if lifetime.id in seen:
            raise BadInput(f"two lifetimes have the id {lifetime.id!r}")
        seen.add(lifetime.id)
