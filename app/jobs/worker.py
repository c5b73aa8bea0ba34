"""The planning process: runs the jobs that it is sent, one after the other."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from functools import cache
from importlib import import_module
from queue import SimpleQueue
from typing import Any

import planners as sp
from app.jobs.job_context import JobContext, Rest
from app.jobs.protocol import HANDLERS, Answer, Request
from app.jobs.results import versions
from planners.core.processes import NAME
from planners.core.registry import DEFAULT
from planners.core.registry import planner as find_planner
from planners.core.worker_process import MessageConnection

TOO_LARGE = "This needs more memory than a planning process may have: try a smaller model."


@cache
def handler(kind: str) -> Callable[[JobContext, Request], Rest]:
    """The function that answers requests of a kind."""
    module, _, name = HANDLERS[kind].partition(":")
    function: Callable[[JobContext, Request], Rest] = getattr(import_module(module), name)
    return function


def serve(context: JobContext, requests: SimpleQueue[dict[str, Any]]) -> None:
    """Run jobs one after the other, for ever."""
    while True:
        message = requests.get()
        context.job, rest = message["job"], None
        try:
            request = Request.from_json(message)
            rest = handler(request.kind)(context, request)
        except sp.SpillwayError as error:
            context.failed(str(error))
        except MemoryError:
            context.failed(TOO_LARGE)
        except Exception as error:  # a planner's bug must cost its job, not the worker
            context.failed(f"the planner failed: {type(error).__name__}: {error}")
        context.say(Answer("done") if rest is None else Answer("yielded", data=rest))


def main(connection: MessageConnection) -> None:
    """Answer the requests of a server."""
    os.nice(5)
    os.environ.setdefault(NAME, "1")  # the pool has a worker a core
    context, requests = JobContext(connection.send), SimpleQueue[dict[str, Any]]()

    def take(data: bytes) -> None:
        message = json.loads(data)
        if "cancel" in message:
            context.cancelled.add(message["cancel"])
        elif "kind" in message:
            requests.put(message)

    connection.listen(take)
    threading.Thread(target=versions, daemon=True).start()  # of the sources as they are now
    handler("plan")  # what the first plan needs is imported before it is asked for
    find_planner(DEFAULT).function()
    serve(context, requests)
