"""Rules of searches as named switches: what may be left out, and what is known of the rest.

A search has a frozen dataclass of booleans, one a rule, all on; each has a sentence on why it is
sound. Without any of them a search finds the same, and proves it, in more states: they are switched
off by tests and by `benchmarks/rules.py` only.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Rules = TypeVar("Rules", bound=DataclassInstance)


def names(rules: DataclassInstance) -> tuple[str, ...]:
    """The names of all rules."""
    return tuple(field.name for field in fields(rules))


def without(rules: Rules, *off: str) -> Rules:
    """The rules with these switched off."""
    return replace(rules, **dict.fromkeys(off, False))


def without_any(rules: Rules) -> Rules:
    """All of them switched off."""
    return without(rules, *names(rules))
