"""Long tables of a page become files beside it: CSV, and a picture each.

    python benchmarks/tables.py docs/joined.md [--data docs/data]

Other benchmarks print their tables as Markdown. Put one on the page with a mark in the line above,
as `planners/study/long_tables.py` describes it, then run this: the table moves to the folder, and
the page keeps the picture, a few rows and the link.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from planners.core.files import write_text
from planners.study.long_tables import shorten


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=Path)
    parser.add_argument("--data", type=Path, help="the folder: data beside the page")
    asked = parser.parse_args()
    data = asked.data or asked.page.parent / "data"
    data.mkdir(parents=True, exist_ok=True)
    link = Path(os.path.relpath(data, asked.page.parent)).as_posix()
    text = asked.page.read_text(encoding="utf-8")
    write_text(asked.page, shorten(text, data, link, asked.page.stem))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
