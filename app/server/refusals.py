"""What is told to those who are not let in: a small page that needs nothing else of the server."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from string import Template

from tornado.web import RequestHandler

from app.model.events import refused
from app.model.paths import ASSETS


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why somebody is not let in, as HTML, with its HTTP status and when they may come back."""

    status: int
    title: str
    why: str
    again_s: int = 0

    @property
    def page(self) -> str:
        """All of the page, as HTML."""
        return _page().substitute(title=self.title, why=self.why)


@cache
def _page() -> Template:
    return Template((ASSETS / "refused.html").read_text("utf-8"))


def answer(handler: RequestHandler, refusal: Refusal) -> None:
    """Answer with a refusal, and be done."""
    refused(refusal.status, refusal.title)
    handler.set_status(refusal.status)
    if refusal.again_s:
        handler.set_header("Retry-After", str(refusal.again_s))
    handler.set_header("Content-Type", "text/html; charset=utf-8")
    handler.set_header("Cache-Control", "no-store")
    handler.finish(refusal.page)


class Refusing(RequestHandler):
    """Answers every request with the same refusal."""

    def initialize(self, refusal: Refusal) -> None:
        self.refusal = refusal

    def prepare(self) -> None:
        """Whatever the method."""
        answer(self, self.refusal)
