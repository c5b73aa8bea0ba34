"""The planning process: reads requests as JSON lines, writes answers as JSON lines.

It runs as `python -m app.jobs.worker` in a session of its own, so that the server can end it
together with every solver that it has started. It ends itself when the server goes away.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import threading
from collections.abc import Callable
from functools import cache
from importlib import import_module
from queue import SimpleQueue
from typing import Any

import planners as sp
from app.jobs.desk import Desk, Rest
from app.jobs.protocol import HANDLERS, Answer, Request
from app.jobs.results import versions
from app.model.memory import limit_this_process
from planners.core.processes import NAME
from planners.core.registry import DEFAULT
from planners.core.registry import planner as find_planner

TOO_LARGE = "This needs more memory than a planning process may have: try a smaller model."


@cache
def handler(kind: str) -> Callable[[Desk, Request], Rest]:
    """The function that answers requests of a kind."""
    module, _, name = HANDLERS[kind].partition(":")
    function: Callable[[Desk, Request], Rest] = getattr(import_module(module), name)
    return function


def serve(desk: Desk, requests: SimpleQueue[dict[str, Any]]) -> None:
    """Run jobs one after the other, for ever."""
    while True:
        message = requests.get()
        desk.job, rest = message["job"], None
        try:
            request = Request.from_json(message)
            rest = handler(request.kind)(desk, request)
        except sp.SpillwayError as error:
            desk.failed(str(error))
        except MemoryError:
            desk.failed(TOO_LARGE)
        except Exception as error:  # a planner's bug must cost its job, not the worker
            desk.failed(f"the planner failed: {type(error).__name__}: {error}")
        desk.say(Answer("done") if rest is None else Answer("yielded", data=rest))


def listen(desk: Desk, requests: SimpleQueue[dict[str, Any]]) -> None:
    """Take requests from the server; when it is gone, end this process and its solvers."""
    for line in sys.stdin:
        message = json.loads(line)
        if "cancel" in message:
            desk.cancelled.add(message["cancel"])
        elif "kind" in message:
            requests.put(message)
    os.killpg(os.getpgrp(), signal.SIGKILL)


def guard() -> None:
    """Leave behind a process that ends the whole group when the server is gone.

    A solver may keep this process so busy that `listen` gets no turn, or outlive it.
    """
    if os.fork():
        return
    os.close(1)  # or the server would not see that the worker has ended
    gone = select.poll()
    gone.register(0, 0)  # an event only when the server closes its end
    gone.poll()
    os.killpg(os.getpgrp(), signal.SIGKILL)


def main() -> None:
    """Keep the real standard output for messages: solvers print to descriptor 1 as they please."""
    guard()
    limit_this_process()
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    os.nice(5)
    os.environ.setdefault(NAME, "1")  # the pool has a worker a core
    desk, requests = Desk(out), SimpleQueue[dict[str, Any]]()
    threading.Thread(target=listen, args=(desk, requests), daemon=True).start()
    threading.Thread(target=versions, daemon=True).start()  # of the sources as they are now
    handler("plan")  # what the first plan needs is imported before it is asked for
    find_planner(DEFAULT).function()
    serve(desk, requests)


if __name__ == "__main__":
    main()
