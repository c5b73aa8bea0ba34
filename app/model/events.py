"""What happens on a server: each event is a line of JSON in the log, and is counted.

No event tells what a visitor's file or model is called, nor an address.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram

log = logging.getLogger("spillway")
ASKED = frozenset({"plan", "sweep", "check", "import", "code", "export"})
"""Kinds of jobs that somebody asks for; others come by themselves, many a second."""
REGISTRY = CollectorRegistry()
"""What is counted here; `app.server.metrics` adds what can be looked up."""
_refusals = Counter("spillway_refusals", "Requests refused.", ["status"], registry=REGISTRY)
_deaths = Counter("spillway_worker_deaths", "Workers ended.", ["reason"], registry=REGISTRY)
_jobs = Counter("spillway_jobs", "Jobs that have ended.", ["kind", "how"], registry=REGISTRY)
_seconds = Histogram(
    "spillway_job_seconds",
    "From the request of a job to its end, by kind; plans are `plan`.",
    ["kind"],
    buckets=(0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000),
    registry=REGISTRY,
)
_uploads = Counter("spillway_uploads_bytes", "Bytes of files that were kept.", registry=REGISTRY)


class JsonLines(logging.Formatter):
    """One JSON object a line: when, how grave, what, and the facts of it."""

    def format(self, record: logging.LogRecord) -> str:
        facts = getattr(record, "facts", {})
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        event = {"at": f"{at}.{int(record.msecs):03d}Z", "level": record.levelname.lower()}
        return json.dumps({**event, "event": record.getMessage(), **facts})


def log_to_stderr() -> None:
    """Have events written as lines of JSON; a second time it does nothing."""
    if not log.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(JsonLines())
        log.addHandler(handler)
        log.setLevel(logging.INFO)
        log.propagate = False


def tell(event: str, *, level: int = logging.INFO, **facts: Any) -> None:
    """Log an event."""
    log.log(level, event, extra={"facts": facts})


def refused(status: int, title: str) -> None:
    """A request was refused."""
    _refusals.labels(str(status)).inc()
    tell("refused", status=status, why=title)


def worker_ended(reason: str, pid: int) -> None:
    """A planning process has ended: for its `memory`, its `time`, by a `signal`, or with a
    `code`."""
    _deaths.labels(reason).inc()
    tell("worker ended", level=logging.WARNING, reason=reason, pid=pid)


def job_ended(kind: str, how: str, seconds: float) -> None:
    """A job is over, `seconds` after it was asked for."""
    _jobs.labels(kind, how).inc()
    _seconds.labels(kind).observe(seconds)
    level = logging.INFO if kind in ASKED else logging.DEBUG
    tell("job ended", level=level, kind=kind, how=how, seconds=round(seconds, 3))


def file_kept(kind: str, size_bytes: int) -> None:
    """A visitor's file was kept."""
    _uploads.inc(size_bytes)
    tell("file kept", kind=kind, bytes=size_bytes)
