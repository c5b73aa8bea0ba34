"""What every answer tells the browser to do and not to do with it, and with its cookies."""

from __future__ import annotations

import re
from asyncio import Future
from collections.abc import Mapping
from http.cookies import SimpleCookie
from typing import cast

from tornado.web import RequestHandler

from app.server.log_in import guard_cookies

HOST = re.compile(r"[\w.-]+(:\d+)?|\[[0-9a-fA-F:.]+\](:\d+)?")
POLICY = (
    "default-src 'none'",
    # Panel writes scripts into its pages and loads components from texts; Bokeh makes callbacks.
    "script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "worker-src 'self' blob:",
    "manifest-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'self'",
)
ALWAYS: Mapping[str, str] = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # an address holds the problem that is planned
    "Server": "Spillway",
}


def headers_for(host: str) -> dict[str, str]:
    """The headers of an answer to somebody who asked for `host`, as the request says it."""
    sockets = f" ws://{host} wss://{host}" if HOST.fullmatch(host) else ""
    policy = [
        *POLICY,
        f"connect-src 'self' blob:{sockets}",
    ]  # not every browser counts sockets as self
    return {**ALWAYS, "Content-Security-Policy": "; ".join(policy)}


def add_headers() -> None:
    """Have all answers carry the headers, those of Bokeh and Tornado too."""
    theirs = RequestHandler.flush
    if theirs.__name__ == "flush_with_headers":
        return

    def flush_with_headers(handler: RequestHandler, include_footers: bool = False) -> Future[None]:
        if not handler._headers_written:
            for name, value in headers_for(handler.request.host).items():
                handler.set_header(name, value)
            cookies = cast("SimpleCookie", getattr(handler, "_new_cookie", {}))
            guard_cookies(cookies, tls=handler.request.protocol == "https")
        return theirs(handler, include_footers)

    RequestHandler.flush = flush_with_headers  # type: ignore[method-assign, assignment]
