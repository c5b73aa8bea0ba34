"""What the server says of itself: that it is well, and how much of what there is, as numbers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from ipaddress import ip_address

from bokeh.server.tornado import BokehTornado
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from tornado.httputil import HTTPServerRequest
from tornado.web import RequestHandler

from app.jobs.pool import running_pool
from app.model import events
from app.model.settings import JOBS, SESSIONS, SOCKETS
from app.model.upload_store import held_bytes
from app.server.refusals import Refusal, answer
from app.server.sessions import sessions
from planners.core.worker_process import group_bytes, process_bytes

ELSEWHERE = Refusal(403, "Not from here", "Metrics are available only on the server's own machine.")
FORWARDED = ("X-Forwarded-For", "X-Real-Ip", "Forwarded")


class LookedUp(Collector):
    """What is as it is when somebody asks."""

    def __init__(self, server: BokehTornado) -> None:
        self.server = server

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Sessions, sockets, queue, workers, memory, files."""
        for name, figure, value in looked_up(self.server):
            yield GaugeMetricFamily(f"spillway_{name}", figure, value)


def looked_up(server: BokehTornado) -> list[tuple[str, str, float]]:
    """Names, what they tell, and values."""
    pool = running_pool()
    pids = pool.pids if pool else []
    return [
        ("sessions", "Sessions that there are.", sessions(server)),
        ("sessions_most", "Sessions that there may be.", SESSIONS.value),
        ("sockets", "Web sockets that are open.", len(server._clients)),
        ("sockets_most", "Web sockets that may be open.", SOCKETS.value),
        ("jobs_waiting", "Jobs that wait for a worker.", len(pool.queue()) if pool else 0),
        ("jobs_waiting_most", "Jobs of one visitor that may wait.", JOBS.value),
        ("workers", "Planning processes.", len(pids)),
        ("workers_bytes", "Memory of planning processes.", sum(map(group_bytes, pids))),
        ("server_bytes", "Memory of the server's own process.", process_bytes(os.getpid())),
        ("uploads_held_bytes", "Files of visitors that are kept.", held_bytes()),
    ]


@cache
def registry(server: BokehTornado) -> CollectorRegistry:
    """Both what was counted and what is looked up."""
    collectors = CollectorRegistry()
    collectors.register(events.REGISTRY)
    collectors.register(LookedUp(server))
    return collectors


class Health(RequestHandler):
    """200 while the server does what it is asked."""

    def get(self) -> None:
        self.set_header("Cache-Control", "no-store")
        self.write({"status": "ok"})


class Metrics(RequestHandler):
    """Numbers as Prometheus reads them, for this machine alone."""

    def get(self) -> None:
        if not is_local(self.request):
            answer(self, ELSEWHERE)
            return
        self.set_header("Content-Type", CONTENT_TYPE_LATEST)
        self.write(generate_latest(registry(self.application)))


def is_local(request: HTTPServerRequest) -> bool:
    """Whether a request was made on this machine, and not by a proxy for somebody else."""
    if any(name in request.headers for name in FORWARDED):
        return False
    try:
        return ip_address(request.remote_ip or "").is_loopback
    except ValueError:
        return False
