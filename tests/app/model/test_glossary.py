"""The glossary: one source, every term on the page is in it, and every one in it is on the page."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import planners as sp
from app.display.displayed_plan import DisplayedPlan
from app.kinds.registry import OF_PLANNER
from app.model.glossary import FILE, entries, glossary, glossary_html, marked, plain, term
from app.views.panels.cards import cards_html
from app.widgets.help_text import planner_html

ROOT = Path(__file__).resolve().parents[3]
PAPERS = {"COSMA", "Optimus", "vMCU", "Demand Layering"}


def used() -> set[str]:
    """Names that views give to `term`, or have in their tables of phrases."""
    found: set[str] = set()
    for path in (ROOT / "app").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "term":
                name = node.args[-1]
                found |= {name.value} if isinstance(name, ast.Constant) else set()
            targets = node.targets if isinstance(node, ast.Assign) else []
            names = [t.id for t in targets if isinstance(t, ast.Name)]
            if any(name.endswith("TERMS") for name in names) and isinstance(node.value, ast.Dict):
                found |= {v.value for v in node.value.values if isinstance(v, ast.Constant)}
    return found


def test_every_term_of_a_view_is_explained_and_none_is_idle() -> None:
    assert used() == set(glossary())


def test_terms_are_in_order_and_there_once() -> None:
    names = [entry.name for entry in entries(FILE.read_text(encoding="utf-8"))]
    assert names == sorted(set(names), key=str.casefold)
    headings = FILE.read_text(encoding="utf-8").count("\n### ")
    assert headings == len(names) == len(glossary())


def test_there_is_one_source_and_it_is_packaged() -> None:
    assert FILE.read_bytes() == (ROOT / "docs" / "glossary.md").read_bytes()
    assert FILE.resolve() == ROOT / "docs" / "glossary.md"


def test_entries_are_short_and_from_papers_that_are_named() -> None:
    for entry in glossary().values():
        assert entry.text.endswith(".")
        assert 20 < len(entry.text) < 320, entry.name
        assert "*" not in entry.text
        assert entry.source in {"", *PAPERS}
    assert {entry.source for entry in glossary().values()} == {"", *PAPERS}


def test_a_term_can_be_reached_by_key_and_read_aloud() -> None:
    html = term("peaks", "peak")
    assert 'tabindex="0"' in html
    assert f'data-tip="peak: {glossary()["peak"].text}"' in html
    assert "aria-label=" in html
    assert html.endswith(">peaks</span>")
    with pytest.raises(KeyError):
        term("no such word")


def test_phrases_in_a_text_are_marked_once_and_the_rest_is_escaped() -> None:
    terms = {"traffic": "traffic", "spill traffic": "spill traffic"}
    html = marked("<b> spill traffic, traffic, traffic & tariff", terms)
    assert html.count('class="term"') == 2
    assert html.startswith("&lt;b&gt; <span")
    assert html.endswith(", traffic &amp; tariff")


def test_every_planner_is_told_in_words_of_the_glossary(shown: DisplayedPlan) -> None:
    assert set(OF_PLANNER) == set(sp.planners()) & set(OF_PLANNER) != set()
    assert all('class="term"' in planner_html(name) for name in OF_PLANNER)
    assert planner_html("somebody's") == ""
    assert "spill traffic: Bytes" in cards_html(shown)


def test_the_page_of_help_has_all_of_it() -> None:
    html = glossary_html()
    assert all(f"<dt>{name}</dt>" in html for name in glossary())


def test_lines_of_html_are_told_apart_as_plain_text() -> None:
    lines = f"<div>1 KiB {term('live', 'occupancy')}</div><div>no hole &lt; 2</div>"
    assert plain(lines) == "1 KiB live · no hole < 2"
