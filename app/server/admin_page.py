"""The page of whoever runs the server: what there is, and an end to what visitors left behind.

It asks for the password in `SPILLWAY_OPERATOR_PASSWORD`, with any name; without one it is
not there.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import os
from functools import cache
from html import escape
from string import Template
from urllib.parse import urlparse

from tornado.web import HTTPError, RequestHandler

from app.model.events import tell
from app.model.paths import ASSETS
from app.model.upload_store import forget, held
from app.server.log_in import refusal_of_try
from app.server.metrics import looked_up
from app.server.refusals import answer
from planners.core.units import format_bytes

PASSWORD_NAME = "SPILLWAY_OPERATOR_PASSWORD"
LEAST = 12
"""Letters of a password."""


class OperatorPage(RequestHandler):
    """What the server holds, for those who know the password."""

    def prepare(self) -> None:
        """Ask for the password; nothing is here where there is none, or one that is too short."""
        password = os.environ.get(PASSWORD_NAME, "")
        self.set_header("Cache-Control", "no-store")
        if len(password) < LEAST:
            raise HTTPError(404)
        if refusal := refusal_of_try(self):
            answer(self, refusal)
        elif not hmac.compare_digest(self._given(), password.encode()):
            tell("operator refused")
            self.set_status(401)
            self.set_header("WWW-Authenticate", 'Basic realm="Spillway", charset="UTF-8"')
            self.finish()

    def get(self) -> None:
        """The numbers."""
        self._show("")

    def post(self) -> None:
        """Do what a button says; only a page of this server may ask for it."""
        if urlparse(self.request.headers.get("Origin", "")).netloc != self.request.host:
            raise HTTPError(403)
        gone = forget(held())
        tell("files removed by the operator", files=gone)
        self._show(f"{gone} files were deleted.")

    def _given(self) -> bytes:
        scheme, _, coded = self.request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "basic":
            return b""
        try:
            return base64.b64decode(coded, validate=True).partition(b":")[2]
        except binascii.Error:
            return b""

    def _show(self, news: str) -> None:
        rows = [
            f"<tr><td>{escape(figure)}</td><td>{_number(name, value)}</td></tr>"
            for name, figure, value in looked_up(self.application)
        ]
        self.write(_page().substitute(news=escape(news), rows="\n".join(rows)))


def _number(name: str, value: float) -> str:
    return format_bytes(int(value)) if name.endswith("_bytes") else f"{value:,.0f}"


@cache
def _page() -> Template:
    return Template((ASSETS / "operator.html").read_text("utf-8"))
