"""The kinds of plans that the page knows; a plan of none of their planners is of the plain kind."""

from __future__ import annotations

import planners as sp
from app.captions.sentence import Sentence
from app.display.displayed_plan import DisplayedPlan
from app.kinds.allocation import AllocationKind
from app.kinds.banks import BanksKind
from app.kinds.fusion import GroupKind
from app.kinds.joined import JoinedKind
from app.kinds.overlap import PoolKind
from app.kinds.streaming import StreamKind
from app.kinds.whole_tensors import AutoKind, CosmaKind, WholeKind
from planners.core.registry import COSMA

WHOLE, ALLOCATION, BANKS = WholeKind(), AllocationKind(), BanksKind()
GROUPS, POOL, STREAM, JOINED = GroupKind(), PoolKind(), StreamKind(), JoinedKind()
KINDS: tuple[WholeKind, ...] = (GROUPS, POOL, STREAM)
OF_PLANNER = {kind.planner: kind for kind in (CosmaKind(), JOINED, AutoKind(), *KINDS)}


def kind_of(shown: DisplayedPlan) -> WholeKind:
    """The kind of a plan."""
    return next((kind for kind in (JOINED, *KINDS, ALLOCATION, BANKS) if kind.made(shown)), WHOLE)


def kind_of_planner(planner: str) -> WholeKind:
    """The kind of a planner's plans; the plain one for third-party planners."""
    return OF_PLANNER.get(planner, WHOLE)


def called(planner: str) -> str:
    """A planner's name in a sentence."""
    return "COSMA" if planner == COSMA else planner


def known_planners() -> list[str]:
    """The planners of one method each, without those that choose among several or join them."""
    several = (AutoKind, JoinedKind)
    return [name for name, kind in OF_PLANNER.items() if not isinstance(kind, several)]


def step_story(shown: DisplayedPlan, step: int) -> list[Sentence]:
    """What happened during a step of a plan, in the order in which it happened."""
    return kind_of(shown).story(shown, step)


def front_of(plan: sp.Plan) -> list[int]:
    """Budgets at which a plan's own front has a point, rising; empty where it has no front."""
    return sorted({budget for kind in KINDS for budget in kind.front(plan)})
