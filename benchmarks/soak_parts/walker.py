"""A visitor who does at random what a person might: press, choose, type, drop files, leave."""

from __future__ import annotations

import asyncio
import gzip
import json
import time
import traceback
import urllib.request
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlencode

from explorer_parts.visitors import PATIENCE_S, Visitor, models
from tornado.httpclient import HTTPClientError

GOLDEN = Path(__file__).resolve().parents[2] / "tests/golden"
MODELS = "alexnet squeezenet1_1 resnet18 mobilenet_v2 mcunet_vww1 mcunet_in0 vit_b_16 mnasnet0_5"
WORDS = "", "MR", "1.2*MR", "300 KiB", "0", "-1", "NaN", "1e99", "ünïcode <b>", "x" * 3000, "7"
KEYS = "ArrowLeft ArrowRight Home End [ ] Escape e w m p c n t ? undo k o b".split() + [" "]
PRESSED, CHOSEN = "panel.models.widgets.Button", "panel.models.widgets.CustomSelect"
TYPED, SWITCHED = "panel.models.widgets.TextInput", "panel.models.widgets.RadioButtonGroup"
SLID, BROUGHT = "Slider", "FileField1"
ACTED_ON = PRESSED, CHOSEN, TYPED, SWITCHED, SLID, BROUGHT, "Mark1", "ModelField1", "Browser1"
GONE = "can't resolve reference", "UnknownReferenceError"


@dataclass
class Tally:
    """What all visitors met: seconds of answers by kind, how often each thing was done, errors."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    done: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)

    def took(self, kind: str, seconds: float) -> None:
        self.seconds.setdefault(kind, []).append(seconds)


class Walker(Visitor):
    """A visitor who knows what can be acted on, in parts of the page too that come later."""

    def __init__(self, address: str, rng: Random) -> None:
        super().__init__(address)
        self.rng = rng
        self.things: dict[str, dict[str, Any]] = {}
        self.owners: dict[str, str] = {}
        self.cursor = ""

    def _find(self, document: Any) -> None:
        """Where the server is late, what is on the page comes after the page."""
        self._made.set()
        self._learn(document)

    def _learn(self, data: Any) -> None:
        """Keep what can be acted on of a message of the server."""
        for found in models(data):
            name = str(found.get("name", ""))
            inner = found.get("attributes", {}).get("data")
            if isinstance(inner, dict) and inner.get("id"):
                self.owners[inner["id"]] = found["id"]
                if "pages" in inner.get("attributes", {}):
                    self.cursor = found["id"]
            if name in ACTED_ON:
                self.things[found["id"]] = {**found.get("attributes", {}), "name": name}

    def _heard(self, kind: str, text: str) -> None:
        if kind == "PATCH-DOC" and any(name in text for name in (*ACTED_ON, "pages")):
            self._learn(json.loads(text))

    def of(self, name: str) -> list[str]:
        """The things of that kind."""
        return [thing for thing, facts in self.things.items() if facts["name"] == name]

    async def want(self, mark: str) -> None:
        """Ask for a part of the page that is made when it comes into sight."""
        del self.things[mark]
        await self.answered(changed(mark, "wanted", True))

    async def act(self) -> tuple[str, float]:
        """Do something at random; what it was, and the seconds until the server has taken it."""
        if self.cursor and self.rng.random() < 0.3:
            step = self.rng.randrange(60)
            return "step", await self.answered(self.said(self.cursor, {"step": step}))
        thing = self.rng.choice(list(self.things))
        kind = self.things[thing]["name"].rpartition(".")[2].removesuffix("1")
        try:
            return kind, await self.answered(self._event_for(thing))
        except RuntimeError as error:
            if not any(words in str(error) for words in GONE):
                raise
            del self.things[thing]  # a part of the page that has been replaced
            return "gone", 0.0

    def _event_for(self, thing: str) -> dict[str, Any]:
        """An event of a thing, as the browser would send it."""
        rng, now = self.rng, self.things[thing]
        match now["name"]:
            case "panel.models.widgets.Button":
                return _sent("button_click", [["model", {"id": thing}]])
            case "panel.models.widgets.CustomSelect":
                options = [o if isinstance(o, str) else o[0] for o in now.get("options") or [""]]
                return changed(thing, "value", rng.choice(options))
            case "panel.models.widgets.TextInput":
                return changed(thing, "value", rng.choice(WORDS))
            case "panel.models.widgets.RadioButtonGroup":
                return changed(thing, "active", rng.randrange(len(now["labels"])))
            case "Slider":
                return changed(thing, "value", rng.randint(now["start"], now["end"]))
            case "Mark1":
                return changed(thing, "wanted", True)
            case "FileField1":
                return self.said(thing, self._file())
            case "ModelField1":
                return self.said(thing, {"key": rng.choice([*MODELS.split(), "no such", "vit"])})
            case _:
                return self.said(thing, {"key": rng.choice(KEYS)})

    def _file(self) -> dict[str, Any]:
        """A plan of an earlier version, whole, cut short, or none at all."""
        text = self.rng.choice(_plans()) if self.rng.random() < 0.7 else "{" * 1000
        text = text[: self.rng.choice([len(text), len(text), len(text) // 2])]
        return piece(text.encode())

    def said(self, thing: str, said: dict[str, Any]) -> dict[str, Any]:
        """A message of a component."""
        owner = self.owners.get(thing, thing)
        entries = [list(entry) for entry in said.items()]
        data = {"type": "map", "entries": entries}
        return _sent("data_event", [["model", {"id": owner}], ["data", data]])

    async def answered(self, event: dict[str, Any]) -> float:
        """Seconds until the server says that it has taken an event, and what follows at once."""
        began, buffers = time.perf_counter(), list[tuple[str, bytes]]()
        content = {"events": [_apart(event, buffers)]}
        number = await self._send("PATCH-DOC", content, buffers)
        await self._reply(number)
        return time.perf_counter() - began


def piece(data: bytes, turn: int = 1, at: int = 0, of: int = 1) -> dict[str, Any]:
    """A piece of a file as the field for files sends it."""
    whole = {"turn": turn, "name": "plan.json", "at": at, "of": of, "size": len(data) * of}
    return {**whole, "data": data}


def _apart(thing: Any, buffers: list[tuple[str, bytes]]) -> Any:
    """A message's content whose bytes are sent after it, as the browser's are."""
    match thing:
        case bytes():
            buffers.append((f"buffer-{len(buffers)}", thing))
            return {"type": "bytes", "data": {"id": buffers[-1][0]}}
        case dict():
            return {name: _apart(value, buffers) for name, value in thing.items()}
        case list():
            return [_apart(value, buffers) for value in thing]
    return thing


@cache
def _plans() -> list[str]:
    found = sorted((GOLDEN / "plans").glob("*.json.gz"))
    return [gzip.decompress(path.read_bytes()).decode() for path in found]


def changed(thing: str, name: str, new: Any) -> dict[str, Any]:
    """A change of a model's property, as a browser says it."""
    return {"kind": "ModelChanged", "model": {"id": thing}, "attr": name, "new": new}


def _sent(name: str, entries: list[Any]) -> dict[str, Any]:
    event = {"type": "event", "name": name, "values": {"type": "map", "entries": entries}}
    return {"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": event}


def link(rng: Random) -> str:
    """The query of a page to open: a network, a planner and a budget at random."""
    fields = {
        "model": rng.choice(MODELS.split()),
        "planner": rng.choice("cosma fusion overlap streaming joined auto".split()),
        "budget": rng.choice(["MR", "MH", "MP", "512 KiB", "1 MiB", "nothing"]),
        "time_limit": str(rng.choice([1, 2, 3])),
        "theme": rng.choice(["default", "dark", "x"]),
        "weights": rng.choice(["left-out", "counted"]),
    }
    few = rng.sample(sorted(fields), rng.randint(0, len(fields)))
    return urlencode({name: fields[name] for name in {*few, "time_limit"}})


async def stroll(
    address: str, rng: Random, pause_s: float, over: Callable[[], bool], tally: Tally
) -> None:
    """Come, act, leave without a word, and come again until all is over."""
    await asyncio.sleep(rng.uniform(0, 2 * pause_s))
    while not over():
        walker = Walker(f"{address}?{link(rng)}", rng)
        try:
            tally.took("page and document", await walker.open())
            await walk(walker, pause_s, over, tally)
        except HTTPClientError as error:
            tally.done[f"answered {error.code}"] += 1
            if error.code not in (429, 503):
                tally.errors.append(f"HTTP {error.code}")
        except Exception as error:  # whatever it is, it is told, and the visitor comes again
            told = traceback.format_exc(limit=-2) if not str(error) else str(error)[-600:]
            tally.errors.append(f"{type(error).__name__}: {told}")
        finally:
            walker.close()
        await asyncio.sleep(rng.expovariate(1 / pause_s))


async def walk(walker: Walker, pause_s: float, over: Callable[[], bool], tally: Tally) -> None:
    """Some dozens of actions on one page."""
    for _ in range(walker.rng.randint(1, 50)):
        await asyncio.sleep(walker.rng.expovariate(1 / pause_s))
        if over():
            return
        if walker.ended:
            raise ConnectionError("the server has closed the web socket")
        if not walker.things:
            continue  # the server is late
        kind, seconds = await walker.act()
        tally.done[kind] += 1
        if kind != "gone":
            tally.took("answer to an action", seconds)


async def beat(address: str, over: Callable[[], bool], tally: Tally) -> None:
    """Ask for the server's health twice a second."""
    while not over():
        tally.took("/health", await asyncio.to_thread(_healthy, address, tally))
        await asyncio.sleep(0.5)


def _healthy(address: str, tally: Tally) -> float:
    began = time.perf_counter()
    try:
        urllib.request.urlopen(address.rpartition("/")[0] + "/health", timeout=PATIENCE_S).close()
    except OSError as error:
        tally.errors.append(f"/health: {error}")
    return time.perf_counter() - began
