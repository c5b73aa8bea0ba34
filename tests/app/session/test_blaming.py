"""The panel that says what the peak on screen is made of."""

from __future__ import annotations

from typing import Any

from app.display.displayed_plan import DisplayedPlan
from app.jobs.handlers.blaming import run_blame
from app.jobs.job_context import JobContext
from app.jobs.protocol import Request, read_line
from app.session.session import Session
from app.views.panels.peak_panel import PeakPanel, blame_rows
from tests.app.session.test_session import settle
from tests.app.session.test_uploads import TABLE, bring, folder, visitor  # noqa: F401


def asked(session: Session, until: Any) -> dict[str, Any]:
    session.blaming.start()
    settle(session, until)
    assert session.work.notice == ""
    return dict(session.work.blamed)


def test_the_peak_of_the_plan_on_screen_is_taken_apart(
    visitor: Session,  # noqa: F811
    until: Any,
) -> None:
    visitor.change(model="alexnet", input_shape="1x3x64x64", budget="MP")
    settle(visitor, until)
    panel = PeakPanel(visitor, None, 250)
    blamed = asked(visitor, until)
    assert blamed["peak_bytes"] == visitor.work.shown.report.extent_bytes
    assert sum(kind["size_bytes"] for kind in blamed["kinds"]) == blamed["peak_bytes"]
    assert all(change["peak_bytes"] < blamed["peak_bytes"] for change in blamed["changes"])
    assert panel.rows.rows == blame_rows(blamed)
    keys = {row["key"] for row in panel.rows.rows if "key" in row}
    assert keys == {f"tensor:{tensor['name']}" for tensor in blamed["tensors"]}
    visitor.change(budget="MR")
    settle(visitor, until)
    assert visitor.work.blamed == {}
    assert panel.rows.rows == []


def test_theirs_and_the_better_one(visitor: Session, until: Any) -> None:  # noqa: F811
    bring(visitor, until, TABLE.encode(), "mine.csv")
    theirs = asked(visitor, until)
    assert (theirs["peak_bytes"], theirs["changes"][0]["peak_bytes"]) == (24, 16)
    visitor.auditing.beside()
    settle(visitor, until)
    visitor.pins.swap()
    better = asked(visitor, until)
    assert (better["peak_bytes"], better["changes"]) == (16, [])


def test_what_the_peak_is_made_of_is_said_before_what_lowers_it(shown: DisplayedPlan) -> None:
    lines: list[bytes] = []
    run_blame(JobContext(lines.append), Request("blame", more={"packed": shown.packed_text}))
    answers = [read_line(line)[1] for line in lines]
    first, last = [answer.data for answer in answers if answer.name == "blame"]
    assert first["tensors"]
    assert first["planning"]
    assert not first["changes"]
    assert first["peak_bytes"] == last["peak_bytes"]
    words = [row["text"] for row in blame_rows(first)]
    assert words[0] == "by kind"
    assert not any("lowers" in word or "time" in word for word in words)
    assert "changes that lower it" in blame_rows(last)[0]["text"]
