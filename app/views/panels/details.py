"""The panel "details": a row for each fact about what is selected, or for each stay on chip."""

from __future__ import annotations

from app.session.session import Session
from app.views.panels.tables import detail_rows
from app.widgets.following import follow
from app.widgets.rows import BarRows


def details(session: Session, choose: object, height: int) -> BarRows:
    """Rows about the selection; a tap on one selects what it is about."""
    rows = BarRows(
        selects=True,
        css_classes=["details"],
        empty="nothing is on chip",
        sizing_mode="stretch_width",
        height=height,
        margin=0,
    )

    def show() -> None:
        work = session.work
        rows.rows = detail_rows(work.shown, session.look.selection, work.why)

    follow(session.work, ["shown", "why"], show)
    follow(session.look, "selection", show)
    return rows
