"""What a plan carries beside its program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from planners.core.details.joined import JoinedStretch
from planners.core.errors import BadInput
from planners.core.records import KEY, SPARSE, plain, read, read_value

if TYPE_CHECKING:  # Most plans carry neither.
    from planners.core.details.pool import CircularPool
    from planners.core.details.streamed import StreamedParameters

Carried: TypeAlias = "CircularPool | StreamedParameters"
POOL = ("layout", "front", "modulos")
STREAMING, TRIED, MOVES, LATENCY = "streaming", "auto", "by_hand", "latency"
BEST = "best_of_all"
STRETCHES = "stretches"
SECONDS = "seconds"  # The times in older plans: `planners.core.times`.
ROUNDING = 1e-9
OWN = (POOL[0], STREAMING, TRIED, BEST, MOVES, LATENCY, SECONDS, STRETCHES)


@dataclass(frozen=True, slots=True)
class TriedPlanner:
    """The result of a planner that `auto` tried: a value by the objective, or why there is none.

    `bound` is what no plan of this planner with these options is better than, `seconds` what it
    took and `limit_s` the most that it might at once; `ended` says why it was asked no more.
    """

    planner: str
    options: Mapping[str, Any]
    objective: str
    value: float | None
    status: str
    offchip_bytes: int | None
    extent_bytes: int | None
    reason: str
    bound: float | None = field(default=None, metadata=SPARSE)
    seconds: float = field(default=0.0, metadata=SPARSE)
    limit_s: float = field(default=0.0, metadata=SPARSE)
    ended: str = field(default="", metadata=SPARSE)


@dataclass(frozen=True, slots=True)
class BestOfForms:
    """What is known of the best plan of several planners, by the objective that was asked.

    `floor` is what no plan of the problem is better than (0: nothing is known), `proven` whether
    the plan has reached it; `forms` is how many ways to plan it is the best of, and `by_clock`
    whether some of them might have found better with more time.
    """

    objective: str
    value: float
    floor: float
    proven: bool
    forms: int
    by_clock: bool = False

    @property
    def gap(self) -> float:
        """The share of the value that is above the floor."""
        return 1 - self.floor / self.value if self.value > self.floor else 0.0

    @property
    def badge(self) -> str:
        """Of what the proof is, in a few words."""
        if self.proven:
            return f"{self.objective} proven optimal"
        return f"{self.objective} within {self.gap:.1%} of floor" if self.floor else "best found"

    @property
    def words(self) -> str:
        """The same in a line."""
        if self.proven:
            return f"{self.badge}: no plan of the problem has less"
        saving = f"; at most {self.gap:.1%} of its {self.objective} could be saved"
        return f"best of {self.forms} ways to plan{saving if self.floor else ''}"


@dataclass(frozen=True, slots=True)
class MovedByHand:
    """A tensor that was moved to another address by hand, from the step on in which it came."""

    tensor: str
    step: int
    start: int = field(metadata={KEY: "from"})
    stop: int = field(metadata={KEY: "to"})


@dataclass(frozen=True, slots=True)
class LatencyClaim:
    """What a planner that minimised latency claims of its plan on the plan's own machine.

    `seconds` is the program's makespan, `bound_s` a proven lower bound on that of every plan in
    the planner's space; `scope` says in words which those are.
    """

    seconds: float
    bound_s: float
    scope: str = ""

    @property
    def gap(self) -> float:
        """(seconds − bound) / seconds; what is only rounding is none."""
        open_ = self.seconds * (1 - ROUNDING) > self.bound_s
        return 1 - self.bound_s / self.seconds if open_ else 0.0


@dataclass(frozen=True, slots=True)
class Details:
    """What a plan carries beside its program, for its views and for what runs it elsewhere.

    `carried` is what its kind of plan needs; whole tensors and fused groups need nothing but
    their program. `tried` are the planners that `auto` tried, `best` what is known of the best of
    them, `moves` what was moved by hand, `latency` what is claimed where latency was minimised,
    `stretches` which operators of a joined plan run how. A planner from elsewhere puts what it
    likes into `extra`: plain data under names of its own.
    """

    carried: Carried | None = None
    tried: tuple[TriedPlanner, ...] = ()
    moves: tuple[MovedByHand, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    latency: LatencyClaim | None = None
    best: BestOfForms | None = None
    stretches: tuple[JoinedStretch, ...] = ()

    def __post_init__(self) -> None:
        if taken := self.extra.keys() & {*OWN, *(POOL if self.pool else ())}:
            raise BadInput(f"extra details cannot be called {min(taken)!r}: that name is taken")

    @property
    def pool(self) -> CircularPool | None:
        """The circular pool that the plan runs in."""
        if self.carried is None:
            return None
        from planners.core.details.pool import CircularPool

        return self.carried if isinstance(self.carried, CircularPool) else None

    @property
    def streamed(self) -> StreamedParameters | None:
        """How the plan's parameters stream."""
        if self.carried is None:
            return None
        from planners.core.details.streamed import StreamedParameters

        return self.carried if isinstance(self.carried, StreamedParameters) else None

    def to_json(self) -> dict[str, Any]:
        """Plain data that `from_json` reads; empty where there is nothing."""
        data: dict[str, Any] = dict(self.extra)
        if self.pool:
            data |= plain(self.pool)
        if self.streamed:
            data[STREAMING] = plain(self.streamed)
        more = {
            TRIED: self.tried,
            BEST: self.best,
            MOVES: self.moves,
            LATENCY: self.latency,
            STRETCHES: self.stretches,
        }
        return data | {name: plain(value) for name, value in more.items() if value}

    @staticmethod
    def from_json(data: Any) -> Details:
        """The details that `to_json` wrote; names that are not ours are the planner's own.

        Raises `BadInput` that names the place of what is wrong.
        """
        try:
            return _details(data)
        except BadInput as error:
            raise BadInput(f"malformed plan: details: {error}") from None


def _details(data: Any) -> Details:
    if not isinstance(data, Mapping):
        raise BadInput(f"{data!r:.40} is not an object")
    carried: Carried | None = None
    taken: tuple[str, ...] = OWN
    if POOL[0] in data:
        from planners.core.details.pool import CircularPool

        carried, taken = read(CircularPool, data, ""), (*OWN, *POOL)
    elif STREAMING in data:
        from planners.core.details.streamed import StreamedParameters

        carried = read(StreamedParameters, data[STREAMING], STREAMING)
    return Details(
        carried,
        tried=read_value(tuple[TriedPlanner, ...], data.get(TRIED, ()), TRIED),
        moves=read_value(tuple[MovedByHand, ...], data.get(MOVES, ()), MOVES),
        extra={str(name): value for name, value in data.items() if name not in taken},
        latency=read_value(LatencyClaim, data[LATENCY], LATENCY) if LATENCY in data else None,
        best=read_value(BestOfForms, data[BEST], BEST) if BEST in data else None,
        stretches=read_value(tuple[JoinedStretch, ...], data.get(STRETCHES, ()), STRETCHES),
    )
