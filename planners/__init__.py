"""Spillway: plan how a neural network runs in a memory that is too small for it.

>>> import planners as sp
>>> graph = sp.load("squeezenet1_1")
>>> plan = sp.plan(graph, budget=sp.budgets(graph).MR)
>>> sp.check(plan).noncompulsory_bytes == plan.claims.noncompulsory_bytes
True
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING

from planners.core.lazy_imports import on_use

if TYPE_CHECKING:
    from planners import plots
    from planners.api import (
        audit,
        blame,
        execute,
        from_darknet,
        from_onnx,
        from_pt2,
        from_torch,
        plan,
        simulate,
        stream,
        write_code,
        write_weights,
    )
    from planners.catalogue.loading import load
    from planners.catalogue.names import models
    from planners.core.errors import (
        BadInput,
        BudgetTooSmall,
        Cancelled,
        ImportFailed,
        InvalidPlan,
        NoPlanFound,
        SpillwayError,
        UnknownName,
        WishesConflict,
    )
    from planners.core.graph import Graph, Operator, Tensor
    from planners.core.machine import Machine, load_machine, presets, with_numbers
    from planners.core.plan import Claims, Plan
    from planners.core.progress import Progress
    from planners.core.registry import PlannerInfo, planners
    from planners.core.units import format_bytes, parse_size
    from planners.core.version import __version__
    from planners.simulator.check import CheckReport
    from planners.simulator.claims import check
    from planners.simulator.records.interval import Interval
    from planners.simulator.records.residency import Residency
    from planners.simulator.simulate import Trace
    from planners.study.budgets import Budgets, budgets
    from planners.study.sweep import even_budgets, summary, sweep

PLACES = {
    "__version__": "planners.core.version",
    "BadInput": "planners.core.errors",
    "BudgetTooSmall": "planners.core.errors",
    "Budgets": "planners.study.budgets",
    "Cancelled": "planners.core.errors",
    "CheckReport": "planners.simulator.check",
    "Claims": "planners.core.plan",
    "Graph": "planners.core.graph",
    "ImportFailed": "planners.core.errors",
    "Interval": "planners.simulator.records.interval",
    "InvalidPlan": "planners.core.errors",
    "NoPlanFound": "planners.core.errors",
    "Machine": "planners.core.machine",
    "Operator": "planners.core.graph",
    "Plan": "planners.core.plan",
    "PlannerInfo": "planners.core.registry",
    "Progress": "planners.core.progress",
    "Residency": "planners.simulator.records.residency",
    "SpillwayError": "planners.core.errors",
    "Tensor": "planners.core.graph",
    "Trace": "planners.simulator.simulate",
    "UnknownName": "planners.core.errors",
    "WishesConflict": "planners.core.errors",
    "audit": "planners.api",
    "blame": "planners.api",
    "budgets": "planners.study.budgets",
    "check": "planners.simulator.claims",
    "even_budgets": "planners.study.sweep",
    "execute": "planners.api",
    "format_bytes": "planners.core.units",
    "from_darknet": "planners.api",
    "from_onnx": "planners.api",
    "from_pt2": "planners.api",
    "from_torch": "planners.api",
    "load": "planners.catalogue.loading",
    "load_machine": "planners.core.machine",
    "models": "planners.catalogue.names",
    "parse_size": "planners.core.units",
    "plan": "planners.api",
    "planners": "planners.core.registry",
    "plots": "planners.plots",
    "presets": "planners.core.machine",
    "simulate": "planners.api",
    "stream": "planners.api",
    "summary": "planners.study.sweep",
    "sweep": "planners.study.sweep",
    "with_numbers": "planners.core.machine",
    "write_code": "planners.api",
    "write_weights": "planners.api",
}
"""Where each name is; it is imported when it is used."""


class _Package(ModuleType):
    """`planners.plan` stays the function where the module of that name is imported."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name == "plan" and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package

if not TYPE_CHECKING:
    __getattr__, __dir__ = on_use(__name__, PLACES)


__all__ = [
    "BadInput",
    "BudgetTooSmall",
    "Budgets",
    "Cancelled",
    "CheckReport",
    "Claims",
    "Graph",
    "ImportFailed",
    "Interval",
    "InvalidPlan",
    "Machine",
    "NoPlanFound",
    "Operator",
    "Plan",
    "PlannerInfo",
    "Progress",
    "Residency",
    "SpillwayError",
    "Tensor",
    "Trace",
    "UnknownName",
    "WishesConflict",
    "__version__",
    "audit",
    "blame",
    "budgets",
    "check",
    "even_budgets",
    "execute",
    "format_bytes",
    "from_darknet",
    "from_onnx",
    "from_pt2",
    "from_torch",
    "load",
    "load_machine",
    "models",
    "parse_size",
    "plan",
    "planners",
    "plots",
    "presets",
    "simulate",
    "stream",
    "summary",
    "sweep",
    "with_numbers",
    "write_code",
    "write_weights",
]
