"""The collector looks once nobody is there, and otherwise seldom."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace

import panel.io.document as panel_documents
import pytest

from app.jobs.answer_cache import DecodedAnswers
from app.server import cleaning
from app.server.cleaning import Cleaning
from app.server.install import install_guards
from tests.app.server.house import House


async def looked(cleaner: Cleaning, others: list[int]) -> bool:
    for there in others:
        cleaner.session_ended(there)
    await asyncio.sleep(0.01)
    return cleaner.ended == 0


@pytest.mark.parametrize(
    ("others", "wanted"),
    [([1, 0], True), ([9, 8, 7], False), ([9] * 25, True), ([50] * 60, False), ([50] * 100, True)],
)
def test_it_looks_when_nobody_is_there_or_many_have_left(
    others: list[int], wanted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cleaning, "CALM_S", 0.0)
    monkeypatch.setattr(cleaning.gc, "collect", lambda: None)
    assert asyncio.run(looked(Cleaning(), others)) == wanted


@pytest.mark.parametrize(("others", "kept"), [([1, 0], 0), ([9] * 100, 1)])
def test_plans_that_were_read_go_once_nobody_is_there(
    others: list[int], kept: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that nobody was on any more held 800 MiB."""
    decoded, entry = DecodedAnswers(), tmp_path / "entry"
    entry.write_text("a plan", encoding="utf-8")
    decoded.keep(entry, ())
    monkeypatch.setattr(cleaning, "CALM_S", 0.0)
    monkeypatch.setattr(cleaning.gc, "collect", lambda: None)
    monkeypatch.setattr(cleaning, "running_pool", lambda: SimpleNamespace(decoded=decoded))
    assert asyncio.run(looked(Cleaning(), others))
    assert len(decoded._kept) == kept


def test_it_looks_after_a_long_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleaning, "CALM_S", 0.0)
    cleaner = Cleaning()
    cleaner.last_s -= cleaning.LONG_S
    assert asyncio.run(looked(cleaner, [5]))


def test_panel_does_not_look_each_time_that_somebody_leaves() -> None:
    install_guards()
    assert panel_documents._garbage_collect.__module__ == cleaning.__name__


def test_who_leaves_is_counted(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[int] = []
    monkeypatch.setattr(cleaning.CLEANING, "session_ended", left.append)
    for _ in range(2):
        house.ask("/")
    context = house.server._tornado.applications["/"]
    house.inside(lambda: asyncio.ensure_future(context._cleanup_sessions(-1)))
    for _ in range(300):
        if len(left) == 2:
            break
        house.ask("/health")
    assert left == [1, 0]
