"""Basic authentication as Panel has it, behind these guards."""

from __future__ import annotations

import re
from urllib.parse import urlencode

from app.model.paths import ASSETS
from tests.app.server.house import House, serving


def test_who_does_not_know_the_password_sees_nothing_but_the_question() -> None:
    how = {
        "basic_auth": {"ada": "correct horse"},
        "cookie_secret": "of this test",
        "login_template": str(ASSETS / "login.html"),
    }
    with serving(**how) as house:
        asked = house.ask("/")
        assert asked.status == 302
        assert asked.headers["Location"].startswith("./login?next=")
        page = house.ask("/login")
        assert 'action="./login"' in page.text
        assert "cdn" not in page.text
        assert log_in(house, "ada", "wrong") == ""
        hostile = house.ask("/login?error=%3Cscript%3Ealert(1)%3C/script%3E")
        assert "<script>" not in hostile.text
        user = log_in(house, "ada", "correct horse")
        assert house.ask("/", Cookie=user).status == 200
        assert house.ask("/", Cookie=user[:-4] + "beef").status == 302
        assert house.ask("/health").status == 200


def log_in(house: House, name: str, password: str) -> str:
    """The cookie of somebody who has logged in; empty for those who could not."""
    body = urlencode({"username": name, "password": password})
    said = house.ask("/login", "POST", body, Content_Type="application/x-www-form-urlencoded")
    assert said.status == 302
    cookies = said.headers.get_all("Set-Cookie") or []
    assert all("HttpOnly" in cookie for cookie in cookies if cookie.startswith("user="))
    found = [re.match('user="?([^";]+)', cookie) for cookie in cookies]
    return next((f"user={match.group(1)}" for match in found if match and match.group(1)), "")
