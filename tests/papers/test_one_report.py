"""All reports as one, in Markdown and HTML."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from planners.cli import main
from planners.cli import reproduce as cli_reproduce
from planners.papers.report import one_report, to_html

TEXTS = {
    "a": "# A, reproduced\n\n| x | y |\n|---|---|\n| 1 | <b>2</b> |\n\n## Part\n\n"
    "```\n# code\n```\n",
    "b": "# B & C, reproduced\n\nSee [A](a.md).\n",
}


def test_each_report_is_a_chapter() -> None:
    text = one_report(TEXTS, quick=False)
    heads = [line for line in text.splitlines() if re.match("#+ ", line)]
    assert heads[1:] == ["## A, reproduced", "### Part", "# code", "## B & C, reproduced"]
    assert "A cut of each" in one_report(TEXTS, quick=True)


def test_html_has_contents_and_passes_no_html_on() -> None:
    found: dict[str, list[Any]] = {"href": [], "id": [], "tags": []}

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            found["tags"].append(tag)
            for name, value in attrs:
                if name in found:
                    found[name].append(value)

    page = to_html(one_report(TEXTS, quick=False), "T & T")
    Reader().feed(page)
    assert [h for h in found["href"] if h[0] == "#"] == [f"#{i}" for i in found["id"][1:]]
    assert "b" not in found["tags"]
    assert {"table", "nav", "h1", "h2", "h3"} <= set(found["tags"])
    assert "<title>T &amp; T</title>" in page
    assert not re.findall(r"https?://", page)


def test_all_papers_into_both_files(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    kept: list[str] = []

    def compared(
        paper: str, study: Any, resume: Path, tell: Callable[[str], None]
    ) -> tuple[dict[str, Any], str]:
        kept.append(resume.name)
        return {"n": len(kept)}, f"# {paper}\n"

    monkeypatch.setattr(cli_reproduce, "_compared", compared)
    out = tmp_path / "r.md"
    command = ["reproduce", "all", "--quick", "--out", str(out), "--resume", str(tmp_path / "k")]
    with pytest.raises(SystemExit) as ended:
        main(command)
    assert not ended.value.code
    assert kept == [f"k.{n}.jsonl" for n in ("cosma", "optimus", "vmcu", "demand-layering")]
    assert "## vmcu" in out.read_text()
    assert "<h2" in (tmp_path / "r.html").read_text()
    with pytest.raises(SystemExit) as ended:
        main(["reproduce", "all", "--models", "vgg16"])
    assert ended.value.code == 2
    assert "name it instead of all" in capfd.readouterr().err
