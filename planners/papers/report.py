"""The one writer of reports: tables, claims, sections, all papers as one, and HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, TypeVar

Row = dict[str, Any]
Item = TypeVar("Item")


def table(
    head: Sequence[str], rows: Iterable[Sequence[str]], texts: int = 1, *, tight: bool = False
) -> str:
    """A Markdown table, so many columns of texts first, then numbers to the right.

    `tight`: the line under the head has no blanks.
    """
    ruler = ["---"] * texts + ["--:"] * (len(head) - texts)
    cells = [[cell.replace("|", "\\|") for cell in row] for row in (head, ruler, *rows)]
    lines = ["| " + " | ".join(row) + " |" for row in cells]
    if tight:
        lines[1] = lines[1].replace(" ", "")
    return "\n".join(lines)


def some_of(points: Sequence[Item], most: int) -> list[Item]:
    """At most so many of them, evenly, the first and the last among them."""
    if len(points) <= most:
        return list(points)
    return [points[round(i * (len(points) - 1) / (most - 1))] for i in range(most)]


def from_to(values: Sequence[float], text: str = "{:.1%}") -> str:
    """The least and the most of some values; one where they are written alike."""
    return " to ".join(dict.fromkeys(text.format(end) for end in (min(values), max(values))))


def share_saved(ours: float | None, other: float | None) -> float | None:
    """The share of the other's bytes that ours saves; None where either is not there."""
    return None if ours is None or not other else 1 - ours / other


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement, the paper's number and ours as they are written, and whether they agree.

    `remark`: why they differ, or how they are compared.
    """

    what: str
    paper: str
    ours: str
    agrees: bool
    remark: str = ""

    @property
    def verdict(self) -> str:
        return "reproduced" if self.agrees else f"differs: {self.remark}"


def yes(value: bool) -> str:
    """What does not hold is marked."""
    return "yes" if value else "**no**"


TITLE = "Four papers, reproduced"
STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 1100px; margin: 2rem auto; }
table { border-collapse: collapse; display: block; overflow-x: auto; margin: 1rem 0; }
th, td { border: 1px solid #8886; padding: .25rem .6rem; text-align: left; vertical-align: top; }
th { background: #8882; }
code { background: #8882; padding: 0 .2em; }
nav { border-left: 3px solid #0072b2; padding-left: 1rem; }
nav li.h3 { margin-left: 1.5rem; }
"""
HEADING = re.compile(r"^(#{1,5}) (.+)$")


def written(parts: Iterable[str]) -> str:
    """A report of its parts, without those that are empty."""
    return "\n\n".join(part for part in parts if part) + "\n"


def section(title: str, *parts: str, of: object = True) -> list[str]:
    """A part under a title; nothing where there is nothing that it is of."""
    return [f"## {title}", *parts] if of else []


def how(paper: str, quick: bool) -> str:
    """How the numbers of a report are computed anew."""
    command = f"spillway reproduce {paper}" + " --quick" * quick
    return f"`{command}` computes all of this anew; `--json` gives every row."


def one_report(texts: Mapping[str, str], quick: bool) -> str:
    """The reports one after the other, each a chapter, behind a title and what they have in common.

    `texts` maps a paper to its report, whose first line is its title.
    """
    every = "A cut of each, of minutes: every" if quick else "Every"
    lines = [
        f"# {TITLE}",
        "",
        f"{every} number is computed here from programs that were replayed, beside what the",
        "papers state. Where a convention matters it is named, and where they differ it says why.",
        "",
    ]
    for text in texts.values():
        lines += [_deeper(text).rstrip(), ""]
    return "\n".join(lines)


def _deeper(text: str) -> str:
    """Every heading one level down; code is left as it is."""
    fenced, lines = False, []
    for line in text.splitlines():
        fenced ^= line.startswith("```")
        lines.append("#" + line if not fenced and HEADING.match(line) else line)
    return "\n".join(lines)


def to_html(text: str, title: str) -> str:
    """Markdown as one page with a table of contents; it fetches nothing."""
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark").enable("table")  # HTML in the text is not passed on
    reader.options["html"] = False
    tokens = reader.parse(text)
    contents = []
    for number, (opening, inline) in enumerate(zip(tokens, tokens[1:])):
        if opening.type == "heading_open":
            opening.attrSet("id", f"s{number}")
            if opening.tag in ("h2", "h3"):
                link = f'<a href="#s{number}">{escape(inline.content)}</a>'
                contents.append(f'<li class="{opening.tag}">{link}</li>')
    body = reader.renderer.render(tokens, reader.options, {})
    head, end = body.split("</h1>", 1) if "</h1>" in body else ("", body)
    heading = f"{head}</h1>" if head else ""
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{escape(title)}</title>'
        f"\n<style>{STYLE}</style>\n{heading}\n<nav><ul>{''.join(contents)}</ul></nav>\n{end}</html>\n"
    )
