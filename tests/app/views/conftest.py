"""The explorer with its first plan, without a browser."""

from __future__ import annotations

import pytest

from app.explorer import Explorer
from app.session.session import Session
from app.widgets.palette import LIGHT


@pytest.fixture
def explorer() -> Explorer:
    session = Session(None)
    made = Explorer(session, LIGHT)
    session.open({}, {})
    return made
