"""The one writer of reports: from a paper's text, claims and tables to Markdown and HTML.

A paper's text is a template, `report.md` in its folder: sections with `{{name}}` where a block
comes, a table or a list that is computed. What is computed is data: columns, and claims.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from statistics import mean
from typing import Any, NamedTuple

from planners.study.long_tables import LongTable, ReportPage, TextTable
from planners.study.table_charts import TableForm

Row = dict[str, Any]
NOTHING = "–"  # where there is no value
Block = str | TextTable | None
"""What is computed of a report: text, a table, or nothing."""


# ---- numbers -------------------------------------------------------------------------------------


def in_units(size: float, digits: int, missing: str = NOTHING) -> Callable[[float | None], str]:
    """How values are written in units of a size, as bytes in KiB; `missing` where there is none."""
    return lambda value: missing if value is None else f"{value / size:,.{digits}f}"


def yes(value: bool) -> str:
    """What does not hold is marked."""
    return "yes" if value else "**no**"


def from_to(values: Sequence[float], text: str = "{:.1%}") -> str:
    """The least and the most of some values; one where they are written alike."""
    return " to ".join(dict.fromkeys(text.format(end) for end in (min(values), max(values))))


def ends(values: Collection[float], text: str) -> str:
    """The least and the most of some values."""
    return " to ".join(text.format(end) for end in (min(values), max(values)))


def ends_and_mean(values: Collection[float], text: str) -> str:
    """The least, the most and the mean of some values."""
    return f"{ends(values, text)}, mean {text.format(mean(values))}"


def share_saved(ours: float | None, other: float | None) -> float | None:
    """The share of the other's bytes that ours saves; None where either is not there."""
    return None if ours is None or not other else 1 - ours / other


# ---- claims and tables ---------------------------------------------------------------------------


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


class Stated(NamedTuple):
    """A number of a paper, how far ours may be from it, how both are written, and a remark."""

    what: str
    value: float
    tolerance: float
    form: str
    remark: str = ""

    def beside(self, ours: float) -> Claim:
        """The claim that ours is near it."""
        agrees = abs(ours - self.value) <= self.tolerance
        stated, reached = (self.form.format(number) for number in (self.value, ours))
        return Claim(self.what, stated, reached, agrees, self.remark)


class StatedRange(NamedTuple):
    """The least and the most of a paper's numbers, and how far beyond them ours may be.

    `unit` is written behind the paper's only.
    """

    what: str
    least: float
    most: float
    tolerance: float
    form: str
    unit: str = ""

    def beside(self, ours: Collection[float], how: str, remark: str) -> Claim:
        """The claim that ours, computed in some way, are all within it."""
        least, most = self.least - self.tolerance, self.most + self.tolerance
        return Claim(
            f"{self.what}, {how}",
            ends((self.least, self.most), self.form) + self.unit,
            ends_and_mean(ours, self.form),
            least <= min(ours) and max(ours) <= most,
            remark,
        )


class Column(NamedTuple):
    """A column: its head, where its value is in a row, and how that is written.

    `value`: a key, keys along nested rows, or a function of the row. `form`: a format, or a
    function that returns text. `optional`: rows may be without it.
    """

    head: str
    value: str | tuple[str, ...] | Callable[[Any], Any]
    form: str | Callable[[Any], str] = "{}"
    optional: bool = False

    def cell(self, row: Any) -> str:
        """The text of a row's value; a dash where it is None, or not there and `optional`.

        Raises `KeyError` for another value that is not there.
        """
        content = row
        if callable(self.value):
            content = self.value(row)
        else:
            for key in (self.value,) if isinstance(self.value, str) else self.value:
                content = content.get(key) if self.optional else content[key]
        if callable(self.form):
            return self.form(content)
        return NOTHING if content is None else self.form.format(content)


class ReportTable:
    """Columns over the rows of a study that have the name `rows`: that of the table by default.

    `texts`: so many columns come first that hold text; numbers are to the right. `each`: the lines
    that a row makes, where that is not one.
    """

    def __init__(
        self,
        name: str,
        *columns: Column,
        rows: str = "",
        texts: int = 1,
        each: Callable[[Any], Iterable[Any]] | None = None,
    ) -> None:
        self.name, self.columns, self.rows = name, columns, rows or name
        self.texts, self.each = texts, each

    def table(self, rows: Iterable[Any], *, bare: bool = True) -> TextTable | None:
        """Its texts for these rows. Without any line: its head alone, or, if not `bare`, None."""
        lines = [line for row in rows for line in (self.each(row) if self.each else [row])]
        head = [column.head for column in self.columns]
        cells = [[column.cell(line) for column in self.columns] for line in lines]
        return TextTable(head, cells, self.texts) if cells or bare else None


NETWORK = Column("network", "network")


def blocks_of(
    tables: Iterable[ReportTable], study: object, *, bare: bool = False
) -> dict[str, Block]:
    """Tables by name, of a study's rows; `bare`: with their heads where there are none."""
    return {each.name: each.table(getattr(study, each.rows), bare=bare) for each in tables}


# ---- one report ----------------------------------------------------------------------------------

BLOCK = re.compile(r"\{\{(\w+)\}\}")
ALONE = re.compile(r"(?:<!-- table ([^\n]*) -->\n)?\{\{(\w+)\}\}")


def report_of(paper: str, blocks: Mapping[str, Block]) -> ReportPage:
    """The report of a paper: its text (`report.md` in its folder) with blocks for their names.

    A block that is a paragraph of its own and empty is left out, and with it the text between it
    and the block before; a section without any of its blocks is left out whole. Above a long table
    the text may say how it is drawn: `<!-- table NAME: LABELS | COLUMNS | WORDS -->`, as
    `TableForm` has it. Raises `KeyError` for a name without a block.
    """
    text = (files("planners.papers") / paper / "report.md").read_text("utf-8")
    sections = re.split(r"\n\n(?=#)", text.strip())
    return ReportPage([part for section in sections for part in _filled(section, blocks)])


def _filled(section: str, blocks: Mapping[str, Block]) -> Iterator[str | LongTable]:
    """The paragraphs of a section that are shown."""
    shown: list[str | LongTable] = []
    between: list[str | LongTable] = []
    some, first = False, True
    for paragraph in section.split("\n\n"):
        alone = ALONE.fullmatch(paragraph)
        block = blocks[alone[2]] if alone else None
        if alone and alone[1] and isinstance(block, TextTable):
            between.append(LongTable(TableForm.parse(alone[1]), block))
        else:
            between.append(BLOCK.sub(lambda name: str(blocks[name[1]]), paragraph))
        if not alone:
            continue
        if block:
            shown += between
            some = True
        elif first:
            shown += between[:-1]
        first, between = False, []
    if some or first:
        yield from (*shown, *between)


def how(paper: str, quick: bool) -> str:
    """How the numbers of a report are computed anew."""
    command = f"spillway reproduce {paper}" + " --quick" * quick
    return f"`{command}` computes all of this anew; `--json` gives every row."


# ---- all reports as one --------------------------------------------------------------------------

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
