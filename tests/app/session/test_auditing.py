"""Another tool's plan on the page: the better one beside it, and the better file."""

from __future__ import annotations

import base64
import gzip
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest

import planners as sp
from app.display.compare import MOVED, differences, totals
from app.kinds.registry import kind_of
from app.links.url import from_query, to_query
from app.session.session import Session
from app.views.panels.audit_bar import AuditBar, verdict_html
from app.views.panels.comparing import compare_rows
from app.widgets.budget_field import BudgetField
from tests.app.session.test_session import settle
from tests.app.session.test_uploads import TABLE, bring, folder, visitor  # noqa: F401
from tests.audits.cure.networks import mobilenet

HIGH = "id,lower,upper,size,offset\na,0,2,8,0\nb,1,3,8,16\nc,2,4,8,0\nlow,0,1,2,8\n"


def saved(session: Session) -> bytes:
    return gzip.decompress(base64.b64decode(session.work.exported["gzip"]))


def test_the_better_allocation_stands_beside_and_its_file_is_written(
    visitor: Session,  # noqa: F811
    until: Any,
    tmp_path: Path,
) -> None:
    bring(visitor, until, HIGH.encode(), "mine.csv")
    bar, budget = AuditBar(visitor), BudgetField(visitor)
    assert bar.box.visible
    assert "What binds" in bar.text.object
    assert "16 bytes live at once in step 1: a, b" in bar.text.object
    assert budget.nameless.visible
    assert not budget.named["MR"].visible
    theirs = visitor.work.shown
    visitor.auditing.beside()
    settle(visitor, until)
    here, there = visitor.work.shown, visitor.work.pinned
    assert (here, visitor.look.panel, visitor.look.comparing) == (theirs, "compare", True)
    assert there.report.extent_bytes == 16 == sp.check(there.plan).extent_bytes
    assert totals(here, there)[0] == ("highest address", 24.0, 16.0, "B")
    moved = differences(here, there)
    assert {item.kind for item in moved} == {MOVED}
    rows = compare_rows(here, there)[2:]
    sizes = [here.graph.size_bytes(row["key"].removeprefix("tensor:")) for row in rows]
    assert sizes == sorted(sizes, reverse=True)
    assert rows
    assert all(cell.startswith("@") for row in rows for cell in row["cells"][:2])
    visitor.pins.unpin()
    visitor.auditing.beside()  # It is known: nothing is asked anew.
    assert not visitor.auditing.busy
    assert visitor.work.pinned is there
    visitor.pins.swap()
    assert visitor.work.shown is there
    assert bar.box.visible
    assert [card.value for card in kind_of(there).cards(there)] == ["16 B", "16 B", "0 B"]
    visitor.auditing.write()
    settle(visitor, until)
    times: list[str] = []
    visitor.work.param.watch(lambda event: times.append(event.new["name"]), "exported")
    visitor.auditing.write()
    assert not visitor.auditing.busy
    assert times == ["mine-better.csv"]
    better = tmp_path / "better.csv"
    better.write_bytes(saved(visitor))
    assert visitor.work.exported["name"] == "mine-better.csv"
    assert sp.audit(better).sentence().startswith("CSV: at the proven minimum of 16 bytes")


def test_a_link_to_an_allocation_opens_it_again(
    visitor: Session,  # noqa: F811
    fresh_pool: Any,
    until: Any,
) -> None:
    bring(visitor, until, HIGH.encode(), "mine.csv")
    found = visitor.auditing.verdict
    query = to_query(visitor.problem, visitor.look)
    problem, look, wrong = from_query(dict(parse_qsl(query.removeprefix("?"))))
    assert wrong == []
    other = Session(fresh_pool)
    other.open(problem, look)
    settle(other, until)
    assert other.work.notice == ""
    assert other.auditing.verdict == found
    assert kind_of(other.work.shown).cards(other.work.shown)[0].value == "24 B"
    other.plan()  # It is a network of these tensors too, which COSMA plans.
    settle(other, until)
    assert (other.auditing.verdict, other.look.judged) == ({}, False)
    other.close()


def test_what_the_runtime_of_a_model_plans_is_judged_and_written(
    visitor: Session,  # noqa: F811
    until: Any,
    tmp_path: Path,
) -> None:
    model = tmp_path / "net.tflite"
    mobilenet().save(model)
    bring(visitor, until, model.read_bytes(), "net.tflite")
    bar = AuditBar(visitor)
    assert (visitor.auditing.kind, visitor.auditing.verdict) == (".tflite", {})
    assert bar.box.visible
    assert bar.judge.visible
    assert not bar.beside.visible
    visitor.auditing.judge()
    settle(visitor, until)
    audited = sp.audit(model, changes=False)
    assert visitor.work.notice == ""
    assert visitor.auditing.verdict["sentence"] == audited.sentence()
    assert visitor.work.shown.report.extent_bytes == audited.peak_bytes
    heads = {}
    for overlap in (False, True):
        visitor.auditing.write(over_inputs=overlap)
        settle(visitor, until)
        planned = tmp_path / f"{overlap}.tflite"
        planned.write_bytes(saved(visitor))
        heads[overlap] = sp.audit(planned, changes=False).peak_bytes
        assert f"{heads[overlap]:,} bytes of the arena's head" in visitor.work.applied
        assert ("reference kernels" in visitor.work.applied) == overlap
    assert heads[True] < heads[False] <= audited.peak_bytes


@pytest.mark.parametrize(("kind", "said"), [(".pte", True), (".csv", False)])
def test_a_program_of_executorch_is_said_not_to_be_rewritten(
    visitor: Session,  # noqa: F811
    until: Any,
    kind: str,
    said: bool,
) -> None:
    bring(visitor, until, TABLE.encode(), "mine.csv")
    text = verdict_html(visitor.auditing.verdict, kind)
    assert ("cannot be rewritten" in text and "pack_memory" in text) == said
