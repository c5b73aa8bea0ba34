"""The tables of `spillway options` on the site's page of options, computed when it is built."""

from __future__ import annotations

from typing import Any

import planners as sp
from planners.core.options_table import options_table
from planners.core.registry import planner as find_planner


def on_page_markdown(markdown: str, page: Any, **context: Any) -> str:
    """A page with the tables behind it, where it is that of options."""
    if page.file.src_uri != "options.md":
        return markdown
    types = {name: find_planner(name).options for name in sp.planners()}
    tables = [f"## {name}\n\n{options_table(each)}" for name, each in types.items() if each]
    return "\n\n".join([markdown, *tables])
