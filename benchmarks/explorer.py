"""Seconds and bytes of the explorer, with a server and a browser of its own.

    python benchmarks/explorer.py [--quick] [--only costs,moves] [--before ROOT]
        [--json FILE]

Parts: `costs` (one page until nothing happens any more: the server's processor, the browser's,
bytes, models; beside a bare page and, with `--before ROOT`, beside another checkout's, in turns),
`paint` (first paint of a warm server, beside that of a bare page with one plot), `visitors`
(what a page costs the server), `moves` (cursor and selection), `steps` (arrow keys through a plan
of each planner and taps on its rows, with and without the server), `budgets` (from a typed budget
to its plan, by planner), `sessions` (20 visitors at once), `fifty` (a class in one moment),
`memory` (the server after 50 plans of one visitor), `detail` (views of 20,000 rectangles, 5,000
operators and a long program, dragged and zoomed).
Each figure is the median over repeats, with the worst. Chromium draws without a GPU; what else the
machine does counts too, so each row names its load. The server begins with an empty cache: "planned
before" is what it has planned itself. Prints Markdown, and writes JSON where a file is named.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import math
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from explorer_parts.browser import Followed, Screen, chromium
from explorer_parts.costs import Cost, cost_of
from explorer_parts.graphs import many_rectangles
from explorer_parts.server import Server
from explorer_parts.visitors import Visitor
from nas_like import nas_like_of
from playwright.sync_api import sync_playwright

PLANNERS = {
    "cosma": ("vit_b_16", ("760 KiB", "800 KiB", "850 KiB")),
    "fusion": ("squeezenet1_0", ("128 KiB", "160 KiB", "200 KiB")),
    "overlap": ("mcunet_vww1", ("40 KiB", "48 KiB", "64 KiB")),
    "streaming": ("mobilenet_v2", ("3 MiB", "4 MiB", "5 MiB")),
}
STEPPED = {
    "cosma": ("vit_b_16", "MR"),
    "fusion": ("squeezenet1_0", "256 KiB"),
    "overlap": ("mcunet_vww1", "64 KiB"),
    "streaming": ("mobilenet_v2", "4 MiB"),
}
PARTS_OF = {
    "cosma": "operators",
    "fusion": "groups",
    "overlap": "runs",
    "streaming": "layers",
}
"""What a card says of a plan of each planner."""
LONG = {"model": "resnet50", "planner": "fusion", "budget": "256 KiB"}
BARE = "benchmarks/explorer_parts/bare.py"
SEEN = {"v": "1", "parameters": "0"}
NEXT = 2
"""The frame that a key falls into is the first: the next one is the second."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured value: its median, the worst of `count`, in what, and the machine's load then."""

    part: str
    name: str
    median: float
    worst: float
    count: int
    unit: str
    load: float

    @property
    def row(self) -> str:
        return (
            f"| {self.part} | {self.name} | {self.median:,.4g} {self.unit} "
            f"| {self.worst:,.4g} {self.unit} | {self.count} | {self.load:.1f} |"
        )


class Bench:
    """Parts add figures; each is printed as soon as it is known. `before`: another checkout."""

    def __init__(self, server: Server, quick: bool, before: Path | None) -> None:
        self.server, self.quick, self.before = server, quick, before
        self.figures: list[Figure] = []

    def add(self, part: str, name: str, values: Iterable[float], unit: str = "ms") -> None:
        known = list(values)
        if not known:
            return
        middle, load = statistics.median(known), os.getloadavg()[0]
        figure = Figure(part, name, middle, max(known), len(known), unit, load)
        self.figures.append(figure)
        print(figure.row, flush=True)

    def repeats(self, many: int) -> int:
        return max(2, many // 3) if self.quick else many


def costs(bench: Bench) -> None:
    """A page of each in turn, so that what else the machine does falls on all."""
    with ExitStack() as stack:
        servers = {"bare": stack.enter_context(Server(BARE)), "now": bench.server}
        if bench.before:
            servers["before"] = stack.enter_context(Server(root=bench.before))
        playwright = stack.enter_context(sync_playwright())
        for server in servers.values():
            cost_of(playwright, server)  # what is made once a server is there
        found: dict[str, list[Cost]] = {name: [] for name in servers}
        for _ in range(bench.repeats(9)):
            for name, server in servers.items():
                found[name].append(cost_of(playwright, server))
    for what in fields(Cost):
        known = {name: [getattr(cost, what.name) for cost in found[name]] for name in found}
        for name, values in known.items():
            bench.add("costs", f"{what.name}, {name}", values, "")
        for other in [name for name in known if name != "now"]:
            pairs = zip(known["now"], known[other], strict=True)
            bench.add("costs", f"{what.name}, now over {other}", [a / b for a, b in pairs], "times")


def paint(bench: Bench) -> None:
    """From asking for the page to the first frame with rectangles in the address map."""
    with Server(BARE) as bare, chromium() as context:
        Screen(context, bench.server.address).close()  # servers and caches are warm
        Screen(context, bare.address, bare=True).close()
        shown, idle, got, foreign, plots = [], [], [], 0.0, []
        for _ in range(bench.repeats(9)):
            plot = Screen(context, bare.address, bare=True)
            plots.append(plot.first_plot_ms)
            plot.close()
            screen = Screen(context, bench.server.address)
            shown.append(screen.first_rectangles_ms)
            idle.append(screen.idle_ms)
            got.append(screen.received_bytes / 1024)
            foreign += len(screen.foreign)
            screen.close()
    bench.add("paint", "a bare page with one plot", plots)
    bench.add("paint", "first plan on screen", shown)
    ratios = [ours / plain for ours, plain in zip(shown, plots, strict=True)]
    bench.add("paint", "first plan over the bare page before it", ratios, "times")
    bench.add("paint", "all views drawn", idle)
    bench.add("paint", "web socket", got, "KiB")
    bench.add("paint", "requests that leave the machine", [foreign], "")


def visitors(bench: Bench) -> None:
    """What a visitor costs the server: seconds of processor, and memory while the page is open.

    These visitors have no window: what lies below the first screen is never asked for.
    """
    many = bench.repeats(15)

    async def come() -> tuple[list[float], float]:
        here, costs = [Visitor(bench.server.address)], []
        await here[0].open()  # what is made once a server is there
        before = bench.server.resident_mib()
        for _ in range(many):
            began = bench.server.processor_s()
            here.append(Visitor(bench.server.address))
            await here[-1].open()
            await asyncio.sleep(0.5)
            costs.append(1e3 * (bench.server.processor_s() - began))
        held = (bench.server.resident_mib() - before) / many
        for visitor in here:
            visitor.close()
        return costs, held

    costs, held = asyncio.run(come())
    bench.add("visitors", "server's processor for a page", costs)
    bench.add("visitors", f"memory of a page, over {many}", [held], "MiB")


def moves(bench: Bench) -> None:
    """The cursor by key, a selection by a row and by the key that takes it away, on the first
    plan: until all views follow, and what comes over the web socket then."""
    with chromium() as context:
        screen = Screen(context, bench.server.address)
        screen.planned()
        times = bench.repeats(30)
        found = {"→": [screen.counted(lambda: screen.follow("ArrowRight")) for _ in range(times)]}
        found["row tapped"], found["Esc"] = [], []
        for k in range(times // 2):
            found["row tapped"].append(screen.counted(lambda k=k: screen.follow_tap(k % 2)))
            found["Esc"].append(screen.counted(lambda: screen.follow("Escape")))
        screen.close()
    for name, all_of in found.items():
        bench.add("moves", f"{name}: all views", [followed.ms for followed, _ in all_of])
        bench.add("moves", f"{name}: web socket", [size / 1024 for _, size in all_of], "KiB")


def steps(bench: Bench) -> None:
    """Fifty arrow keys through a plan of each planner and taps on rows of what is live; then while
    the server hears nothing."""
    with chromium() as context:
        for planner, (model, size) in STEPPED.items():
            query = {**SEEN, "model": model, "planner": planner, "budget": size}
            screen = Screen(context, f"{bench.server.address}?{urlencode(query)}")
            screen.planned(model, PARTS_OF[planner])
            bench.add(
                "steps", f"{planner}: web socket, whole", [screen.received_bytes / 1024], "KiB"
            )
            for held, name in ((False, "→"), (True, "→ without the server")):
                screen.hold(held)
                screen.follow("Home")  # or from the end the keys would lead nowhere
                keys = ["ArrowRight", "ArrowRight", "ArrowLeft"] * 17
                found = [screen.follow(key) for key in keys[: bench.repeats(50)]]
                prompt(bench, f"{planner}: {name}", found)
                taps = [screen.follow_tap(k % 2) for k in range(bench.repeats(15))]
                prompt(bench, f"{planner}: {name.replace('→', 'row tapped')}", taps)
            screen.close()


def prompt(bench: Bench, name: str, found: list[Followed]) -> None:
    """How long all views took to follow, and how often that was in the next frame."""
    moved = [f for f in found if f.moved]
    bench.add("steps", f"{name}, all views", [f.ms for f in moved])
    bench.add("steps", f"{name}, frames", [f.frames for f in moved], "")
    share = sum(f.frames <= NEXT for f in moved) / len(found)
    bench.add("steps", f"{name}, in the next frame", [100 * share], "%")


def budgets(bench: Bench) -> None:
    """From Enter in the field of the budget to the new plan on screen."""
    with chromium() as context:
        for planner, (model, sizes) in PLANNERS.items():
            query = {**SEEN, "model": model, "planner": planner, "budget": "8 MiB"}
            screen = Screen(context, f"{bench.server.address}?{urlencode(query)}")
            screen.planned()
            sizes = sizes[:2] if bench.quick else sizes
            new = [screen.type_budget(size) for size in sizes]
            again = [screen.type_budget(size) for size in sizes]
            screen.close()
            bench.add("budgets", f"{planner}, {model}: new", [m.first_ms for m in new])
            bench.add("budgets", f"{planner}, {model}: planned before", [m.first_ms for m in again])
            bench.add("budgets", f"{planner}: web socket", [m.bytes / 1024 for m in new], "KiB")


def sessions(bench: Bench) -> None:
    """Visitors that all step, then all ask for plans, then step while those are made."""
    count = 8 if bench.quick else 20
    found = asyncio.run(crowd(bench.server.address, count))
    for name, values in found.items():
        bench.add("sessions", f"{count} visitors: {name}", values, "" if name == "errors" else "ms")


def fifty(bench: Bench) -> None:
    """A class that opens the page in one moment, here and before in turn: until the last sees a
    plan, be it a still picture, and until the last has one that answers.

    These visitors have no window: their browsers' work is on other machines."""
    count = 16 if bench.quick else 50
    with ExitStack() as stack:
        servers = {"now": bench.server}
        if bench.before:
            servers["before"] = stack.enter_context(Server(root=bench.before))
        for server in servers.values():
            asyncio.run(at_once(server.address, 2))
        found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in servers}
        for _ in range(bench.repeats(3)):
            for name, server in servers.items():
                found[name].append(asyncio.run(at_once(server.address, count)))
    for name, classes in found.items():
        who = f"{count} visitors, {name}"
        for what, unit, values in zip(
            ("the last sees a plan", "the last may act", "pages that never came"),
            ("s", "s", ""),
            zip(*classes, strict=True),
            strict=True,
        ):
            bench.add("fifty", f"{who}: {what}", values, unit)


async def at_once(address: str, count: int) -> tuple[float, float, float]:
    """Seconds until the last of some visitors sees a plan, and until the last may act; how many
    pages never came."""
    visitors = [Visitor(address) for _ in range(count)]
    answers = await asyncio.gather(*(v.open() for v in visitors), return_exceptions=True)
    came = [(v, act) for v, act in zip(visitors, answers, strict=True) if isinstance(act, float)]
    for visitor in visitors:
        visitor.close()
    seen = [visitor.text_s if visitor.sees_plan else act for visitor, act in came]
    nobody = math.nan
    last = max((act for _, act in came), default=nobody)
    return max(seen, default=nobody), last, float(count - len(came))


async def crowd(address: str, count: int) -> dict[str, list[float]]:
    """What each of some visitors waits for; an error is an answer that did not come."""
    visitors = [Visitor(address) for _ in range(count)]
    errors = 0

    async def every(act: Callable[[Visitor], Any]) -> list[float]:
        nonlocal errors
        answers = await asyncio.gather(*map(act, visitors), return_exceptions=True)
        errors += sum(isinstance(answer, BaseException) for answer in answers)
        for answer in answers:
            if isinstance(answer, BaseException):
                print(f"  {type(answer).__name__}: {answer}")
        return [1e3 * answer for answer in answers if not isinstance(answer, BaseException)]

    found = {"page and document": await every(lambda v: v.open())}
    steps = [await every(lambda v, k=k: v.step(3 + k)) for k in range(5)]  # type: ignore[misc]
    found["step"] = [value for row in steps for value in row]
    sizes = {visitor: f"{1800 + 16 * k} KiB" for k, visitor in enumerate(visitors)}
    asked = [asyncio.create_task(visitor.budget(sizes[visitor])) for visitor in visitors]
    await asyncio.sleep(0.3)
    steps = [await every(lambda v, k=k: v.step(20 + k)) for k in range(5)]  # type: ignore[misc]
    found["step while all are planned for"] = [value for row in steps for value in row]
    answers = iter(asked)
    found["budget"] = await every(lambda _visitor: next(answers))
    for visitor in visitors:
        visitor.close()
    return {**found, "errors": [float(errors)]}


def memory(bench: Bench) -> None:
    """The server's resident bytes before and after the plans of one visitor, and once they left."""
    plans = 10 if bench.quick else 50
    rss = bench.server.resident_mib

    async def plan_much() -> tuple[float, float, float]:
        visitor = Visitor(bench.server.address)
        await visitor.open()
        for k in range(3):
            await visitor.budget(f"{1500 + k} KiB")
        before = rss()
        for k in range(plans):
            await visitor.budget(f"{1510 + 8 * k} KiB")
        after = rss()
        visitor.close()
        await asyncio.sleep(40)  # Bokeh looks for sessions without a page every 17 s
        return before, after, rss()

    before, after, left = asyncio.run(plan_much())
    bench.add("memory", "server with one visitor", [before], "MiB")
    bench.add("memory", f"a plan more, over {plans}", [(after - before) / plans], "MiB")
    bench.add("memory", "server when the visitor has gone", [left], "MiB")


def detail(bench: Bench) -> None:
    """Views of 20,000 rectangles, 5,000 operators and a long program, dragged and zoomed."""
    with tempfile.TemporaryDirectory() as folder, chromium() as context:
        plan, graph = Path(folder) / "plan.json", Path(folder) / "graph.json"
        many_rectangles(5000, 3).save(plan)
        graph.write_text(json.dumps(nas_like_of(5000, 1).to_json()))
        for name, file in (("20,000 rectangles", plan), ("5,000 operators", graph)):
            screen = Screen(context, bench.server.address)
            moved = screen.upload(file)
            bench.add("detail", f"{name}: file to views", [moved.first_ms / 1e3], "s")
            bench.add("detail", f"{name}: web socket", [moved.bytes / 1024], "KiB")
            driven(bench, screen, name)
            screen.close()
        query = urlencode({**SEEN, **LONG})
        began = time.perf_counter()
        screen = Screen(context, f"{bench.server.address}?{query}")
        screen.planned(LONG["model"], PARTS_OF["fusion"])
        name = f"{LONG['model']} {LONG['budget']}"
        bench.add("detail", f"{name}: link to views", [time.perf_counter() - began], "s")
        bench.add("detail", f"{name}: web socket, whole", [screen.received_bytes / 1024], "KiB")
        driven(bench, screen, name)
        screen.close()


def driven(bench: Bench, screen: Screen, name: str) -> None:
    """Frames a second, longest frame and bytes of each figure, dragged and zoomed."""
    for figure in ("address-map", "occupancy", "timeline", "dag"):
        screen.whole(figure)
        bench.add("detail", f"{name}, {figure}: rows", [screen.glyphs(figure)], "")
        found = {"drag": screen.pan(figure), "wheel": screen.zoom(figure)}
        for how, moved in found.items():
            bench.add("detail", f"{name}, {figure}: {how}", [moved.a_second], "frames/s")
            bench.add("detail", f"{name}, {figure}: {how}, frame", moved.frames_ms)
        sent = [moved.bytes / 1024 for moved in found.values()]
        bench.add("detail", f"{name}, {figure}: web socket", sent, "KiB")
    press = [screen.follow("ArrowRight").ms for _ in range(bench.repeats(9))]
    bench.add("detail", f"{name}: →, all views", press)


EVERY = (costs, paint, visitors, moves, steps, budgets, sessions, fifty, memory, detail)
PARTS = {part.__name__: part for part in EVERY}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer repeats, fewer visitors")
    parser.add_argument("--only", default=",".join(PARTS), help="parts, with commas between")
    parser.add_argument("--before", type=Path, help="a checkout to hold this one against")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    given = parser.parse_args()
    chosen = [PARTS[name] for name in given.only.split(",")]
    with ExitStack() as stack:
        server = stack.enter_context(Server())
        bench = Bench(server, given.quick, given.before)
        print(f"{os.cpu_count()} cores; load: processes that want one, in the last minute\n")
        print("| part | what | median | worst | of | load |\n|---|---|--:|--:|--:|--:|")
        for part in chosen:
            part(bench)
            gc.collect()
    if given.json:
        given.json.write_text(json.dumps([asdict(figure) for figure in bench.figures], indent=1))


if __name__ == "__main__":
    main()
