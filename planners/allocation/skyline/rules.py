"""The rules of the search over skylines: what it leaves out, and in which order it looks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PackingRules:
    """Of the search for a packing within a capacity."""

    slack: bool = True
    """A section loses no more to emptiness than its capacity exceeds its load. Without it only what
    ends above the capacity is left out."""
    dominance: bool = True
    """No block that would fit into an empty stretch is placed elsewhere: moved there it would lie
    lower."""
    full_ends: bool = True
    """At an end of a valley with no slack some block lies at the bottom: those that cover that end
    are all choices."""
    support: bool = True
    """The blocks within a valley reach its lower wall at both ends, but for the slack, or nothing
    can be placed in it."""
    fewest_choices: bool = True
    """The valley with fewest choices comes first, and one without an alternative at once: each
    valley has to be filled in the end. Without it the leftmost comes first."""
    independence: bool = True
    """Stretches that no block left to place connects are searched one after the other."""
    backjumping: bool = True
    """A failure that blames nothing that a choice changed happens with its alternatives too."""
    nogoods: bool = True
    """The same heights of the same sections with the same blocks left to place fail again."""
    symmetry: bool = True
    """Of blocks equal in all respects the first goes first."""
    tighter: bool = True
    """Searches within less capacity take turns with the one within all of it: a packing that one of
    them finds fits, and less room to spare leaves fewer ways to waste it."""


PACKING_RULES = PackingRules()
