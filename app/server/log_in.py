"""Names and passwords: Panel's basic authentication, asked and answered as we want it to be.

What a form or an address says of where to go next is followed only to paths of this server; an
address has few tries a minute; a form is taken from those alone who were shown it; cookies are for
this site and, over TLS, for TLS.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from http.cookies import Morsel
from typing import Any

import panel as pn
import panel.auth as panel_auth
from panel.io.resources import CDN_DIST
from panel.io.server import AutoloadJsHandler
from tornado.web import Finish, HTTPError, RequestHandler

from app.model.events import tell
from app.server.rates import Rates, too_often
from app.server.refusals import Refusal, answer

TRIES = 20
"""Passwords that an address may try in a minute: a class behind one router logs in with fewer."""
WRONG = "Invalid username or password."
LATE = "The form was too old, or came from another page. Try again."
FORM = re.compile(r"<form\b[^>]*>", re.IGNORECASE)
PATH = re.compile(r"/(?!/)[!-\[\]-~]*")
"""Letters that an address has, but no backslash: browsers take that for a slash."""

_tries = Rates(lambda: TRIES)


def own_path(text: str | None) -> str:
    """A path of this server, as it is; the server's first page for anything else."""
    start = _base_url()
    return text if text and PATH.fullmatch(text) and text.startswith(start) else start


def _base_url() -> str:
    return pn.state.base_url or "/"


def refusal_of_try(handler: RequestHandler) -> Refusal | None:
    """Why a password is not looked at, where there were too many from its address."""
    wait_s = _tries.wait_s(handler.request.remote_ip or "")
    return too_often(wait_s, TRIES, "passwords") if wait_s else None


class LogIn(panel_auth.BasicLoginHandler):
    """The page that asks for a name and a password."""

    def get(self) -> None:
        """Ask."""
        self.set_cookie("next_url", own_path(self.get_argument("next", "")), httponly=True)
        self._ask("")

    def post(self) -> None:
        """Let somebody in, or ask again."""
        if refusal := refusal_of_try(self):
            answer(self, refusal)
            return
        try:
            self.check_xsrf_cookie()
        except HTTPError:
            self._ask(LATE, 403)
            return
        name = self.get_argument("username", "")
        if not self._validate(name, self.get_argument("password", "")):  # type: ignore[no-untyped-call]
            tell("log-in refused")
            self._ask(WRONG, 401)
            return
        self.set_current_user(name)  # type: ignore[no-untyped-call]
        self.redirect(own_path(self.get_cookie("next_url")))

    def _ask(self, error: str, status: int = 200) -> None:
        page = self._login_template.render(
            login_endpoint=self._login_endpoint,
            errormessage=error,
            PANEL_CDN=CDN_DIST,
        )
        hidden = str(self.xsrf_form_html())
        self.set_status(status)
        self.set_header("Cache-Control", "no-store")
        self.write(FORM.sub(lambda found: found[0] + hidden, page))


def guard_log_in() -> None:
    """Have Panel ask by our page, and follow our paths alone, after OAuth too."""
    panel_auth._validate_next_url = own_path  # type: ignore[assignment]

    def login_handler(provider: Any) -> type[LogIn]:
        LogIn._login_endpoint = provider._login_endpoint
        LogIn._login_template = provider._login_template
        return LogIn

    setattr(panel_auth.BasicAuthProvider, "login_handler", property(login_handler))  # noqa: B010


def lead_scripts_to_the_log_in() -> None:
    """Have scripts of a page that are asked for without a log-in answered as pages are: Bokeh has
    answered by then, and there is no session to wait for."""
    theirs = AutoloadJsHandler.get_session
    if theirs.__name__ == "session_if_there_is_one":
        return

    async def session_if_there_is_one(handler: Any) -> Any:
        response = theirs(handler)
        if response is None:
            raise Finish
        return await response

    AutoloadJsHandler.get_session = session_if_there_is_one


def guard_cookies(cookies: Mapping[str, Morsel[str]], *, tls: bool) -> None:
    """Have cookies sent from pages of this site alone, and read by no script; over TLS sent over
    nothing else."""
    for cookie in cookies.values():
        cookie["samesite"] = "Lax"  # who comes back from an OAuth provider still has his
        cookie["httponly"] = True
        cookie["secure"] = tls
