"""The COSMA paper's comparison (V-B2) for fixed schedules: our optimum beside its four schemes.

Activations only, 8-bit, batch 1. The joint schedule is not part of this table yet; what is
called optimal here is optimal for the schedule in its row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from planners.catalogue import load
from planners.machine import load_machine
from planners.registry import planner
from planners.simulator.check import check
from planners.study.budgets import budgets

HUMAN = (
    *("resnet50", "densenet121", "resnext50_32x4d", "r2plus1d_18", "s3d", "fcn_resnet50"),
    *("lraspp_mobilenet_v3_large", "deeplabv3_resnet50", "vit_b_16"),
)
SEARCHED = ("timm:pnasnet5large", "timm:nasnetalarge")
SCHEMES = tuple((s, r) for s in ("default", "mpmf") for r in ("optimal", "belady", "greedy"))
PAPER = "the paper: −84 % on average over ten human-designed networks, −85 % over four searched"
ABSENT = "not in the catalogue yet: Transformer, AmoebaNet-D, DARTS"


def rows(
    models: Sequence[str] = HUMAN + SEARCHED,
    granularity: str = "folded",
    time_limit: float = 60.0,
    on_row: Callable[[dict[str, Any]], object] | None = None,
) -> list[dict[str, Any]]:
    """A row for each model and budget: non-compulsory bytes of each scheme, status and seconds."""
    machine, make = load_machine("npu_small"), planner("cosma").function()
    found = []
    for model in models:
        graph = load(model, granularity=granularity)
        b = budgets(graph)
        for label in ("MR", "MH", "MP"):
            row: dict[str, Any] = {"model": model, "budget": label, "bytes": getattr(b, label)}
            for schedule, replacement in SCHEMES:
                options = {
                    "schedule": schedule,
                    "replacement": replacement,
                    "time_limit": time_limit,
                }
                plan = make(graph, machine, row["bytes"], options, None)
                check(plan)
                row[f"{schedule} {replacement}"] = plan.claims.noncompulsory_bytes
                if replacement == "optimal":
                    row[f"{schedule} gap"] = plan.claims.gap
                    row[f"{schedule} s"] = round(plan.claims.plan_s, 3)
            found.append(row)
            if on_row is not None:
                on_row(row)
    return found


def reductions(table: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Mean share of each scheme's non-compulsory bytes that our best schedule saves.

    Over the rows in which the scheme moves anything.
    """
    saved: dict[str, float] = {}
    for schedule, replacement in SCHEMES:
        if replacement == "optimal":
            continue
        key = f"{schedule} {replacement}"
        shares = [
            1 - min(row["default optimal"], row["mpmf optimal"]) / row[key]
            for row in table
            if row[key]
        ]
        saved[key] = sum(shares) / len(shares) if shares else 0.0
    return saved
