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


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The looks that were made; none is made in truth."""
    made: list[int] = []
    monkeypatch.setattr(cleaning, "CALM_S", 0.0)
    monkeypatch.setattr(cleaning.gc, "collect", lambda: made.append(1))
    return made


async def tell(cleaner: Cleaning, before: int, pages: int) -> None:
    cleaner.sessions_were_checked(before, pages)
    await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("before", "pages", "since_s", "wanted"),
    [
        (1, 0, 1, True),
        (0, 0, 1000, False),
        (9, 9, 100, False),
        (9, 9, 130, True),
        (9, 8, 130, True),
        (50, 50, 290, False),
        (50, 50, 310, True),
    ],
)
def test_it_looks_when_nobody_is_there_or_some_have_been_there_for_long(
    before: int, pages: int, since_s: float, wanted: bool, looks: list[int]
) -> None:
    """Pages of visitors who stayed held what they had shown before until one of them left."""
    cleaner = Cleaning()
    cleaner.last_s -= since_s
    asyncio.run(tell(cleaner, before, pages))
    assert len(looks) == wanted
    asyncio.run(tell(cleaner, pages, pages))
    assert len(looks) == wanted


@pytest.mark.parametrize(("pages", "kept"), [(0, 0), (9, 1)])
def test_plans_that_were_read_go_once_nobody_is_there(
    pages: int, kept: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looks: list[int]
) -> None:
    """A server that nobody was on any more held 800 MiB."""
    decoded, entry = DecodedAnswers(), tmp_path / "entry"
    entry.write_text("a plan", encoding="utf-8")
    decoded.keep(entry, ())
    monkeypatch.setattr(cleaning, "running_pool", lambda: SimpleNamespace(decoded=decoded))
    cleaner = Cleaning()
    cleaner.last_s -= 1000
    asyncio.run(tell(cleaner, 10, pages))
    assert looks
    assert len(decoded._kept) == kept


def test_panel_does_not_look_each_time_that_somebody_leaves() -> None:
    install_guards()
    assert panel_documents._garbage_collect.__module__ == cleaning.__name__


def test_pages_are_counted_as_sessions_are_checked(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[int, int]] = []
    monkeypatch.setattr(cleaning.CLEANING, "sessions_were_checked", lambda *n: told.append(n))
    for _ in range(2):
        house.ask("/")
    tornado = house.server._tornado
    monkeypatch.setattr(tornado, "_unused_session_lifetime_milliseconds", -1)
    house.inside(lambda: asyncio.ensure_future(tornado._cleanup_sessions()))
    for _ in range(300):
        if told:
            break
        house.ask("/health")
    assert told[0][0] - told[0][1] == 2  # Houses of other tests may have pages too.
