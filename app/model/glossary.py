"""Terms of art and what they mean, from `docs/glossary.md`. No Panel here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from html import escape, unescape

from app.model.paths import ASSETS

FILE = ASSETS / "glossary.md"  # a link, so that wheels have it too
ENTRY = re.compile(r"^### (.+)\n((?:(?!#).*\n?)+)", re.MULTILINE)
SOURCE = re.compile(r"\s*\*From: (.+?)\.\*\s*$")


@dataclass(frozen=True, slots=True)
class Entry:
    """A term, what it means in plain words, and the paper that it comes from, if one."""

    name: str
    text: str
    source: str

    @property
    def words(self) -> str:
        """The text, and where it is from."""
        return f"{self.text} ({self.source})" if self.source else self.text


def entries(text: str) -> tuple[Entry, ...]:
    """The entries of a glossary in Markdown: a heading for each term, a paragraph under it."""
    terms = []
    for name, body in ENTRY.findall(text):
        words = " ".join(body.split())
        source = SOURCE.search(words)
        terms.append(Entry(name, SOURCE.sub("", words), source[1] if source else ""))
    return tuple(terms)


@cache
def glossary() -> Mapping[str, Entry]:
    """The entries by name, in the file's order."""
    return {entry.name: entry for entry in entries(FILE.read_text(encoding="utf-8"))}


def term(text: str, name: str = "") -> str:
    """A word of the page with its meaning on hover and focus; `name` is the entry, if not `text`.

    Style it with `app.widgets.style.TIP`. Raises `KeyError` where the glossary has no such entry.
    """
    entry = glossary()[name or text]
    about = f"{entry.name}: {entry.words}"
    return (
        f'<span class="term" role="note" tabindex="0" aria-label="{escape(about)}"'
        f' data-tip="{escape(about)}">{escape(text)}</span>'
    )


def marked(text: str, terms: Mapping[str, str]) -> str:
    """Plain text as HTML in which the first of each phrase has the meaning of its entry.

    `terms` has entries by phrase; of phrases that overlap the longest wins.
    """
    phrases = sorted(terms, key=len, reverse=True)
    pattern = re.compile("|".join(rf"\b{re.escape(phrase)}\b" for phrase in phrases))
    seen: set[str] = set()
    parts, at = [], 0
    for match in pattern.finditer(text):
        if (phrase := match[0]) not in seen:
            seen.add(phrase)
            parts += [escape(text[at : match.start()]), term(phrase, terms[phrase])]
            at = match.end()
    return "".join([*parts, escape(text[at:])])


def plain(html: str) -> str:
    """The text of a piece of our HTML, without tags and what they say on hover; lines as one."""
    return unescape(re.sub(r"<[^>]*>", "", html.replace("</div><div>", " · ")))


def glossary_html() -> str:
    """All entries, for a page of help."""
    items = "".join(
        f"<dt>{escape(e.name)}</dt><dd>{escape(e.text)}"
        + (f" <i>{escape(e.source)}</i>" if e.source else "")
        + "</dd>"
        for e in glossary().values()
    )
    return f'<h2>Glossary</h2><dl class="glossary">{items}</dl>'
