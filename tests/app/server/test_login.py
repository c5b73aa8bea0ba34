"""Basic authentication as Panel has it, behind these guards."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest

from app.model.paths import ASSETS
from app.server import log_in
from app.server.log_in import TRIES, own_path
from app.server.rates import Rates
from tests.app.server.house import House, Said, serving

FORM = {"Content_Type": "application/x-www-form-urlencoded"}


@pytest.fixture
def house(monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    monkeypatch.setattr(log_in, "_tries", Rates(lambda: TRIES))
    how = {
        "basic_auth": {"ada": "correct horse"},
        "cookie_secret": "of this test",
        "login_template": str(ASSETS / "login.html"),
    }
    with serving(**how) as made:
        yield made


def test_who_does_not_know_the_password_sees_nothing_but_the_question(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    scripts = "/autoload.js?bokeh-autoload-element=1"
    for path in ("/", "/main", "/autoload.js", scripts, "/ws"):
        asked = house.ask(path)
        assert asked.status in (302, 400, 403, 404), path
        assert "word" not in asked.text
    for script in ("bokeh.min.js", "none.js", "../x", "extensions/panel/panel.min.js"):
        assert house.ask(f"/static/{script}").status in (200, 302, 403, 404)
    assert house.ask("/").headers["Location"].startswith("./login?next=")
    page = house.ask("/login")
    assert 'action="./login"' in page.text
    assert "cdn" not in page.text
    assert users(tried(house, password="wrong")) == []
    assert tried(house, password="wrong").status == 401
    hostile = house.ask("/login?error=%3Cscript%3Ealert(1)%3C/script%3E+Call+this+number")
    assert "script" not in hostile.text
    assert "Call" not in hostile.text
    [user] = users(tried(house))
    assert house.ask("/", Cookie=user).status == 200
    assert house.ask("/", Cookie=user[:-4] + "beef").status == 302
    assert house.ask("/health").status == 200
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


@pytest.mark.parametrize(
    ("asked", "led"),
    [
        ("/main?model=resnet18&budget=256%20KiB", "/main?model=resnet18&budget=256%20KiB"),
        ("/", "/"),
        ("", "/"),
        ("//other.example/", "/"),
        ("https://other.example/", "/"),
        ("other.example", "/"),
        ("/main\r\nX: y", "/"),
    ],
)
def test_one_is_led_to_paths_of_this_server(house: House, asked: str, led: str) -> None:
    said = tried(house, "?" + urlencode({"next": asked}))
    assert (said.status, said.headers["Location"]) == (302, led)


def test_behind_a_prefix_paths_are_below_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_in, "_base_url", lambda: "/spillway/")
    assert own_path("/spillway/main?x=1") == "/spillway/main?x=1"
    assert own_path("/other/") == own_path(None) == "/spillway/"


def test_passwords_are_tried_slowly(house: House) -> None:
    """Sixty were tried in two seconds."""
    found = [tried(house, password=f"guess {k}").status for k in range(TRIES)]
    assert found == [401] * TRIES
    late = tried(house)  # the right one
    assert late.status == 429
    assert 0 < int(late.headers["Retry-After"]) <= 60
    assert f"More than {TRIES} passwords" in late.text


def test_a_form_is_taken_from_those_who_were_shown_it(house: House) -> None:
    body = urlencode({"username": "ada", "password": "correct horse"})
    said = house.ask("/login", "POST", body, **FORM)
    assert said.status == 403
    assert "Try again" in said.text
    assert users(said) == []


@pytest.mark.parametrize("tls", [True, False])
def test_cookies_are_for_this_site_and_no_script(house: House, tls: bool) -> None:
    house.server._http.xheaders = True
    said = tried(house, X_Forwarded_Proto="https" if tls else "http")
    cookies = said.headers.get_all("Set-Cookie")
    assert {cookie.partition("=")[0] for cookie in cookies} >= {"user", "id_token"}
    for cookie in cookies:
        assert "SameSite=Lax" in cookie
        assert "HttpOnly" in cookie
        assert ("Secure" in cookie) is tls


def tried(house: House, query: str = "", password: str = "correct horse", **headers: str) -> Said:
    """The answer to Ada, or who says so, with a password."""
    page = house.ask("/login" + query)
    cookies = [cookie.partition(";")[0] for cookie in page.headers.get_all("Set-Cookie")]
    token = re.search('name="_xsrf" value="([^"]+)"', page.text)
    assert token is not None
    body = urlencode({"username": "ada", "password": password, "_xsrf": token[1]})
    return house.ask("/login", "POST", body, Cookie="; ".join(cookies), **FORM, **headers)


def users(said: Said) -> list[str]:
    """The cookie of somebody who has logged in; none for those who could not."""
    cookies = said.headers.get_all("Set-Cookie") or []
    return [c.partition(";")[0] for c in cookies if re.match('user="?[^";]', c)]
