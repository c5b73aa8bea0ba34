"""Requests to a worker and its answers: one form for every kind of job, as JSON.

A server and its workers are of one version, so the form is free to change with the sources.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Kind = Literal[
    "progress", "result", "infeasible", "recalled", "error", "done", "cancelled", "died", "yielded"
]
ENDS = frozenset({"done", "cancelled", "died"})  # kinds of the last answer to a request
FAILURES = frozenset({"error", "died"})  # their `text` says what went wrong
HOMES = 3
"""For how many homes a worker keeps what it knows."""

HANDLERS: Mapping[str, str] = {
    "plan": "app.jobs.handlers.planning:run_plan",
    "budgets": "app.jobs.handlers.planning:run_budgets",
    "check": "app.jobs.handlers.uploads:run_check",
    "import": "app.jobs.handlers.uploads:run_import",
    "warm": "app.jobs.handlers.planning:run_warm",
    "sweep": "app.jobs.handlers.sweep:run_sweep",
    "reach": "app.jobs.handlers.fused:run_reach",
    "preview": "app.jobs.handlers.fused:run_preview",
    "why": "app.jobs.handlers.fused:run_why",
    "fronts": "app.jobs.handlers.streaming:run_fronts",
    "resolutions": "app.jobs.handlers.streaming:run_resolutions",
    "move": "app.jobs.handlers.moved_by_hand:run_move",
    "blame": "app.jobs.handlers.blaming:run_blame",
    "better": "app.jobs.handlers.audits:run_better",
    "better file": "app.jobs.handlers.audits:run_better_file",
    "code": "app.jobs.handlers.code:run_code",
    "export": "app.outputs.sharing:run_export",  # by name: outputs are above jobs
}
"""The function that answers requests of a kind, loaded by the worker."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request to a worker: a kind of `HANDLERS`, the problem that it is about, and the rest.

    Requests of one `home` run in the same worker, which keeps what it knows from one to the next.
    """

    kind: str
    problem: Mapping[str, Any] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)
    home: str = ""

    def rest(self, fields: Mapping[str, Any]) -> Request:
        """The same with other `more`: what remains to be done."""
        return replace(self, more={**self.more, **fields})

    def message(self, number: int) -> bytes:
        """As a worker takes it, with the number of its job."""
        fields = {"kind": self.kind, "problem": self.problem, "more": self.more}
        return json.dumps({"job": number, **fields}, separators=(",", ":")).encode()

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Request:
        """As it was sent; only the server knows the home."""
        return cls(data["kind"], data["problem"], data["more"])


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer to a request, `at_s` seconds after it was made.

    A `result` has a name of its own; for other kinds the name is the kind.
    """

    kind: Kind
    name: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    at_s: float = 0.0

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", self.kind)

    def __getitem__(self, name: str) -> Any:
        return self.data[name]

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a field of the answer, if it has that field."""
        return self.data.get(name, default)

    def line(self, number: int) -> str:
        """As a worker writes it, with the number of its job."""
        fields = {"job": number, "kind": self.kind, "name": self.name, "data": self.data}
        return json.dumps(fields, separators=(",", ":"))


def cancel_message(number: int) -> bytes:
    """What asks a worker to stop a job, by its number."""
    return json.dumps({"cancel": number}).encode()


def read_line(line: str | bytes) -> tuple[int, Answer]:
    """The number of a job and the answer. Raises `ValueError` for a line that is no answer."""
    try:
        read = json.loads(line)
        return int(read["job"]), Answer(read["kind"], read["name"], read["data"])
    except (KeyError, TypeError) as error:
        raise ValueError(f"not an answer: {line[:60]!r}") from error
