"""The rules of the searches over orders of operators."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OrderRules:
    """Of the search for the least cost over all orders."""

    stand_in: bool = True
    """A state is left out where another with the same operators executed costs no more, what has
    to be evicted and written to turn it into this one included."""
    forced_moves: bool = True
    """An operator, or a chain, that fits and leaves no more than what dies with it runs at once:
    what it leaves can stand for what died in any continuation."""
    later_use: bool = True
    """Of two tensors as large and as cheap to evict, that which is used later goes first: it comes
    back into the room that the other had."""
    overflow: bool = True
    """What must live across an operator and does not fit beside it is evicted; where the tensors
    are different, such costs add up."""
    tail: bool = True
    """A state that has executed nothing behind a point of an order pays the least cost of the
    part behind it."""
    tail_states: bool = True
    """A state that can be reached from one which the search of a part behind a point expanded pays
    the part's least cost, less what was paid to come there."""


@dataclass(frozen=True, slots=True)
class PeakRules:
    """Of the search for the least peak."""

    free_runs: bool = True
    """An operator that fits under the peak so far and leaves no more live than there was runs at
    once: brought forward in any continuation it raises no footprint."""
    reached: bool = True
    """What runs freely after a state is not worked out again where that state was reached for no
    more."""


ORDER_RULES, PEAK_RULES = OrderRules(), PeakRules()
