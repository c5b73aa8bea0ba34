"""The options of fused groups: which search, and what tiles may be like."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from planners.core.options import Options, Rule, choice, flag, texts, whole

OBJECTIVES = ("traffic", "latency")
FUSERS = ("no_fusion", "fused_layer", "dnnvm", "efficient_s")
OWN_SEARCH = "{} is a search of its own"
LEAST_TRAFFIC = "{} is for traffic only"
OWN_RULES = "{} does not support wishes: leave one of them out"


@dataclass(frozen=True, kw_only=True)
class FusionOptions(Options):
    """Options of the planner of fused groups; its plans always count parameters."""

    objective: str = choice(
        OBJECTIVES,
        "the objective: off-chip traffic, or latency on the machine",
        label="Objective",
        words={"traffic": "least traffic", "latency": "least latency"},
        place="front",
    )
    baseline: str = choice(
        ("", *FUSERS),
        "an earlier rule for groups, to compare with",
        label="Baseline",
        words={
            "": "none",
            "no_fusion": "no fusion",
            "fused_layer": "fused-layer (2016)",
            "dnnvm": "DNNVM (2019)",
            "efficient_s": "Efficient-S (2020)",
        },
        place="front",
    )
    online: bool = flag(
        "groups by the paper's fast rules, without a proof", label="online, by rules", place="front"
    )
    joint: bool = flag(
        "tensors may stay on chip between groups",
        label="keep maps on chip between groups (joint)",
        place="front",
    )
    bands: int = choice(
        tuple(2**n for n in range(17)),
        "the most bands of columns in a tile, a power of two",
        default=8,
        label="Bands of columns, at most",
        words={n: str(n) for n in (1, 2, 4, 8, 16)},
        short="{} bands",
    )
    channel_tile: int = whole(
        1,
        "the least output channels computed at once (the paper's T_c)",
        least=1,
        most=65536,
        unit="channels",
        label="Channels at once, at least",
        short="{} channels",
    )
    double_buffer: bool = flag(
        "prefetch into what the budget leaves",
        default=True,
        label="prefetch where there is room",
        short="no prefetch",
    )
    free_local_layers: bool = flag(
        "local layers alone cost nothing in the search, as in the paper's artefact",
        label="local layers alone for free",
        short="local for free",
    )
    wishes: tuple[str, ...] = texts("'fuse A B' or 'split A B' each", place="none")

    def rules(self) -> Iterator[Rule]:
        if self.objective == "latency":
            yield Rule("online", LEAST_TRAFFIC.format("online"))
            yield Rule("baseline", LEAST_TRAFFIC.format("a baseline"))
            yield Rule("free_local_layers", LEAST_TRAFFIC.format("what is taken for free"))
            yield Rule("wishes", LEAST_TRAFFIC.format("the search under wishes"))
        if self.wishes:
            yield Rule("online", OWN_RULES.format("online"))
            yield Rule("baseline", OWN_RULES.format(self.baseline or "a baseline"))
        if self.baseline:
            yield Rule("online", OWN_SEARCH.format("the baseline"))
            yield Rule("joint", OWN_SEARCH.format("the baseline"))
        elif self.online:
            yield Rule("baseline", OWN_SEARCH.format("online"))
            yield Rule("joint", OWN_SEARCH.format("online"))
        elif self.joint:
            yield Rule("free_local_layers", OWN_SEARCH.format("joint"))
