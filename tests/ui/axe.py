"""axe's opinion of a page. It is not installed with the project: `npm install axe-core` in the
checkout, or SPILLWAY_AXE=path/to/axe.min.js.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.ui.conftest import ROOT

AXE = Path(os.environ.get("SPILLWAY_AXE", ROOT / "node_modules/axe-core/axe.min.js"))
needs_axe = pytest.mark.skipif(
    not AXE.exists(),
    reason="axe is not there: npm install axe-core in the checkout, or set SPILLWAY_AXE",
)


def violations(page: Page) -> list[Any]:
    """What axe has against the page as it is, by rule, with the places."""
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(AXE.read_text("utf-8"))
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [(v["id"], [node["html"][:120] for node in v["nodes"]]) for v in found["violations"]]
