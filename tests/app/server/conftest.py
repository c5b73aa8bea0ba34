"""A server with its guards and a page of one word."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.app.server.house import House, serving


@pytest.fixture
def house() -> Iterator[House]:
    with serving() as made:
        yield made
