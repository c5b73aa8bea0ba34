"""RAM of the paper's layers and modules: three accountings of its systems, and our own forms."""

from __future__ import annotations

from dataclasses import asdict

from planners.catalogue.vmcu import MISPRINTS, POINTWISE, TABLE_2
from planners.papers.table import Row
from planners.papers.vmcu.accounts import of_layer, of_module
from planners.papers.vmcu.forms import needs


def layer_row(name: str) -> Row:
    """A pointwise convolution; `stated` where the paper's text gives its shape."""
    case = POINTWISE[name]
    row: Row = {"layer": name, **asdict(case)}
    return row | {name: dict(ram) for name, ram in of_layer(case).items()}


def module_row(name: str) -> Row:
    """A row of Table 2: bytes of each system by accounting, and of each form in closed form."""
    module = TABLE_2[name]
    forms = {
        form: {
            "bytes": need.total_bytes,
            "workspace": need.workspace_bytes,
            "extra_macs": need.extra_macs,
        }
        for form, need in needs(module).items()
    }
    row: Row = {"module": name, "misprint": MISPRINTS.get(name, ""), "forms": forms}
    return row | {name: dict(ram) for name, ram in of_module(module).items()}
