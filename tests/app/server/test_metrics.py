"""What the server says of itself, and to whom; what it writes in its log."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import logging
import os
import time
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from app.jobs.pool import WorkerPool
from app.jobs.protocol import Request
from app.model import events, upload_store
from app.server import guard, sessions
from tests.app.jobs.test_jobs import PROBLEM
from tests.app.server.house import House, Said

PASSWORD = "a long enough one"


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where uploads of this test are kept."""
    monkeypatch.setattr(upload_store, "folder", lambda: tmp_path)
    return tmp_path


def numbers(said: Said) -> dict[str, float]:
    """Metrics as Prometheus reads them, by their names with their labels."""
    assert said.status == 200
    return {
        " ".join((sample.name, *sample.labels.values())): sample.value
        for family in text_string_to_metric_families(said.text)
        for sample in family.samples
    }


def test_health_is_told_whatever_else_there_is_to_do(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPILLWAY_REQUESTS", "1")
    there = asyncio.Event()

    async def hold_turn() -> None:
        async with sessions.turn():
            await there.wait()

    house.inside(lambda: asyncio.ensure_future(hold_turn()))
    said = [house.ask("/health") for _ in range(3)]
    assert [(one.status, json.loads(one.text)) for one in said] == [(200, {"status": "ok"})] * 3
    house.inside(there.set)


def test_metrics_tell_what_there_is_and_what_has_happened(house: House, kept: Path) -> None:
    before = numbers(house.ask("/metrics"))
    house.ask("/")
    house.ask("/?bokeh-session-id=x")
    token = upload_store.keep("secret-name.json", b"{}")
    after = numbers(house.ask("/metrics"))
    grown = {name: after[name] - before.get(name, 0) for name in after}
    assert grown["spillway_sessions"] == 1
    assert grown["spillway_refusals_total 403"] == 1
    assert grown["spillway_uploads_bytes_total"] == grown["spillway_uploads_held_bytes"] == 2
    assert after["spillway_server_bytes"] > 10**6
    assert (kept / token).exists()


@pytest.mark.parametrize("header", ["X-Forwarded-For", "X-Real-Ip", "Forwarded"])
def test_metrics_are_for_the_machine_itself(house: House, header: str) -> None:
    assert house.ask("/metrics", **{header: "127.0.0.1"}).status == 403


def test_jobs_and_deaths_are_counted(pool: WorkerPool, until: Any) -> None:
    before = count("spillway_jobs_total", kind="budgets", how="done")
    lasted = count("spillway_job_seconds_count", kind="budgets")
    job = pool.submit(Request("budgets", PROBLEM))
    until(lambda: job.state == "ended")
    assert count("spillway_jobs_total", kind="budgets", how="done") == before + 1
    assert count("spillway_job_seconds_count", kind="budgets") == lasted + 1


def count(name: str, **labels: str) -> float:
    return events.REGISTRY.get_sample_value(name, labels) or 0.0


@pytest.mark.usefixtures("kept")
def test_an_event_is_a_line_of_json_without_names(monkeypatch: pytest.MonkeyPatch) -> None:
    written = logging.StreamHandler(io.StringIO())
    written.setFormatter(events.JsonLines())
    monkeypatch.setattr(events.log, "handlers", [written])
    monkeypatch.setattr(events.log, "propagate", False)
    events.log.setLevel(logging.INFO)
    upload_store.keep("secret-name.json", b"{}")
    events.refused(429, "Too many requests")
    events.worker_ended("memory", 12)
    events.job_ended("preview", "done", 0.1)  # there are many of these
    lines = written.stream.getvalue().splitlines()
    said = [json.loads(line) for line in lines]
    assert [one["event"] for one in said] == ["file kept", "refused", "worker ended"]
    assert said[0].items() >= {"kind": "json", "bytes": 2, "level": "info"}.items()
    assert said[2].items() >= {"reason": "memory", "level": "warning"}.items()
    assert not [line for line in lines if "secret" in line]


def test_the_operator_sees_numbers_and_ends_what_was_left(
    house: House, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    coded = base64.b64encode(f"me:{PASSWORD}".encode()).decode()
    known = {"Authorization": f"Basic {coded}"}
    assert house.ask("/operator", **known).status == 404
    monkeypatch.setenv("SPILLWAY_OPERATOR_PASSWORD", PASSWORD)
    asked = house.ask("/operator")
    assert (asked.status, asked.headers["WWW-Authenticate"][:5]) == (401, "Basic")
    for wrong in ("Basic !!", f"Bearer {coded}", "Basic " + coded[:-4], "Basic bWU6"):
        assert house.ask("/operator", Authorization=wrong).status == 401
    token = upload_store.keep("x.json", b"{}")
    (kept / "other").write_text("not a visitor's")
    assert "Files of visitors that are kept.</td><td>" in house.ask("/operator", **known).text
    assert house.ask("/operator", "POST", Origin="https://example.org", **known).status == 403
    assert house.ask("/operator", "POST", Origin=f"http://127.0.0.1:{house.port}").status == 401
    assert (kept / token).exists()
    own = f"http://127.0.0.1:{house.port}"
    assert "1 files were deleted" in house.ask("/operator", "POST", Origin=own, **known).text
    assert [path.name for path in kept.iterdir()] == ["other"]


def test_files_that_nobody_uses_are_removed_now_and_then(
    house: House, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPILLWAY_UPLOADS_DAYS", "2")
    used, old = (upload_store.keep("x.json", text) for text in (b"{}", b"[]"))
    os.utime(kept / old, (time.time() - 3 * 86_400,) * 2)
    monkeypatch.setattr(guard, "_cleaned_s", -guard.CLEAN_S)
    house.ask("/health")
    assert [path.name for path in kept.iterdir()] == [used]
