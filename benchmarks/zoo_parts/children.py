"""A network in a process of its own, with limits: what it told before its end is kept."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

import torch

from zoo_parts.case import Family
from zoo_parts.examine import examine

Row = dict[str, Any]


def run_in_child(
    family: Family, name: str, limit_s: float, memory_gib: float, plan_s: float
) -> Row:
    """What is found of a network, and how its process ended where it did not end by itself."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_work, args=(family, name, theirs, memory_gib, plan_s))
    began = time.monotonic()
    child.start()
    theirs.close()
    row: Row = {}
    while (left := began + limit_s - time.monotonic()) > 0 and ours.poll(left):
        try:
            _merge(row, ours.recv())
        except EOFError:
            break
    else:
        row["died"] = f"after {limit_s:.0f} s"
        with suppress(ProcessLookupError):  # it may not have a group of its own yet
            os.killpg(child.pid or 0, signal.SIGKILL)
        child.kill()
    child.join()
    if "done" not in row and "died" not in row and row.get("read", "read") == "read":
        row["died"] = f"with exit code {child.exitcode}"
    return row | {"seconds": round(time.monotonic() - began, 1)}


def _merge(row: Row, news: Row) -> None:
    for key, value in news.items():
        row[key] = row.get(key, {}) | value if isinstance(value, dict) else value


def _work(family: Family, name: str, pipe: Connection, memory_gib: float, plan_s: float) -> None:
    os.setsid()
    limit = int(memory_gib * 2**30)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    try:
        case = family.make(name)
    except Exception as error:
        text = (str(error).strip().splitlines() or [""])[0]
        pipe.send({"read": "not made", "said": f"{type(error).__name__}: {text}"[:300]})
        return
    try:
        examine(case, pipe.send, plan_s)
    except MemoryError:
        pipe.send({"died": f"for want of memory: {memory_gib:g} GiB are its limit"})
    except Exception as error:
        pipe.send({"died": f"{type(error).__name__}: {error}"[:300]})
