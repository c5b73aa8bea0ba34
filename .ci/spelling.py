"""Misspelt words on the pages and in the lessons. The field's words are in `words.txt` beside this.

    python .ci/spelling.py

Words in code, names with digits or underscores, and words with capitals are left out.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from spellchecker import SpellChecker

ROOT = Path(__file__).parents[1]
CODE = re.compile(
    r"```.*?```|`[^`]*`|\]\([^)]*\)|<!--.*?-->|^:::.*$|https?://\S+", re.DOTALL | re.M
)


def texts() -> Iterator[tuple[Path, str]]:
    """Each file and its prose."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
    for page in (*pages, *sorted((ROOT / "docs").glob("*.md"))):
        yield page, page.read_text(encoding="utf-8")
    for lesson in sorted((ROOT / "notebooks").glob("*.ipynb")):
        cells = json.loads(lesson.read_text(encoding="utf-8"))["cells"]
        prose = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
        yield lesson, "\n".join(prose)


def words_of(text: str) -> set[str]:
    """The words of a text that a dictionary may have."""
    names = re.findall(r"[\w.'-]+", CODE.sub(" ", text))
    prose = (name for name in names if not re.search(r"[\d_]|\w\.\w", name))
    parts = (part.strip(".'") for name in prose for part in name.split("-"))
    plain = (re.sub(r"'s$", "", part) for part in parts)
    return {word for word in plain if len(word) > 3 and word.islower() and word.isascii()}


def main() -> int:
    checker = SpellChecker()
    checker.word_frequency.load_words((Path(__file__).parent / "words.txt").read_text().split())
    wrong = [(page, word) for page, text in texts() for word in checker.unknown(words_of(text))]
    for page, word in sorted(wrong):
        print(f"{page.relative_to(ROOT)}: {word}", file=sys.stderr)
    if wrong:
        print("a word of the field belongs into .ci/words.txt", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    raise SystemExit(main())
