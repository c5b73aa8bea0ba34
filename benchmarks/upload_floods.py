"""Pages that send without end: does the server's memory stay flat, and does it come back?

    python benchmarks/upload_floods.py [--minutes 2.5] [--pages 4] [--kinds unasked,again,…]

Serves the explorer as `panel serve` does, and lets pages send pieces of files, one after the other:
`unasked`, of no file that began; `again`, the first of a file, again and again; `whole`, files of
one piece; `texts`, long texts in a field. A page that is ended for it comes again. Prints by kind
what was sent, memory at its start, after a tenth of the time and at the end, its slope from then
on, and memory once all have left; ends with 1 where that grows by more than a MiB a minute, or the
log has an error.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from soak_parts.picture import svg
from soak_parts.served import MIB, Sample, Served
from soak_parts.walker import Walker, changed, piece

KINDS = ("unasked", "again", "whole", "texts")
PIECE, TEXT = 4 * MIB, MIB
EVERY_S, LEFT_S = 2.0, 60.0
QUERY = "?model=squeezenet1_1&planner=fusion&time_limit=1"


async def page_of(served: Served, rng: Random) -> Walker:
    """A page whose field for files is there."""
    walker = Walker(served.address + QUERY, rng)
    await walker.open()
    for _ in range(100):
        for mark in walker.of("Mark1"):
            await walker.want(mark)
        await asyncio.sleep(0.5)
        if walker.of("FileField1"):
            return walker
    raise ConnectionError("no field for files came")


async def send(served: Served, kind: str, number: int, end_s: float, sent: Counter[str]) -> None:
    """Send until the time is over; come again where the server ended the page."""
    rng, turn = Random(f"{kind} {number}"), 0
    while time.monotonic() < end_s:
        walker = None
        try:
            walker = await page_of(served, rng)
            while time.monotonic() < end_s:
                turn += 1
                await walker.answered(event(walker, kind, turn))
                sent[f"{kind}: messages"] += 1
        except (ConnectionError, OSError, RuntimeError):
            sent[f"{kind}: pages ended"] += 1
        finally:
            if walker is not None:
                walker.close()
        await asyncio.sleep(1.0)


def event(walker: Walker, kind: str, turn: int) -> dict[str, Any]:
    """What is sent next."""
    if kind == "texts":
        field = walker.of("panel.models.widgets.TextInput")[0]
        return changed(field, "value", f"{turn} " + "x" * TEXT)
    at, of = {"unasked": (3, 5), "again": (0, 5), "whole": (0, 1)}[kind]
    data = turn.to_bytes(8, "big") + os.urandom(PIECE - 8)
    return walker.said(walker.of("FileField1")[0], piece(data, turn, at, of))


async def flood(served: Served, kind: str, asked: argparse.Namespace, every: list[Sample]) -> bool:
    """One kind of flood; whether memory was flat."""
    sent, samples, senders = Counter[str](), list[Sample](), list[asyncio.Task[None]]()
    end_s = time.monotonic() + 60 * asked.minutes
    for number in range(asked.pages):
        senders.append(asyncio.create_task(send(served, kind, number, end_s, sent)))
    while time.monotonic() < end_s:
        samples.append(await asyncio.to_thread(served.sample))
        await asyncio.sleep(EVERY_S)
    await asyncio.gather(*senders)
    await asyncio.sleep(LEFT_S)
    every += samples
    asked.out.write_text(svg(every, asked.out.stem), "utf-8")
    after = await asyncio.to_thread(served.sample)
    late = samples[len(samples) // 10 :]
    grown = slope(late)
    print(
        f"{kind:8} {sent[f'{kind}: messages']:6} messages, "
        f"{sent[f'{kind}: pages ended']} pages ended; MiB"
        f" {samples[0].server_mib:.0f}, {late[0].server_mib:.0f}, {late[-1].server_mib:.0f};"
        f" {grown:+.2f} a minute; {after.server_mib:.0f} after, {after.sessions} sessions",
        flush=True,
    )
    return grown < 1.0


def slope(samples: list[Sample]) -> float:
    """MiB a minute, by least squares."""
    xs, ys = [s.at_s / 60 for s in samples], [s.server_mib for s in samples]
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((x - mean_x) ** 2 for x in xs)
    return sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True)) / (spread or 1.0)


def main() -> int:
    """Serve, flood, and print what was found."""
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--minutes", type=float, default=2.5, help="of each kind")
    ask.add_argument("--pages", type=int, default=4)
    ask.add_argument("--kinds", default=",".join(KINDS))
    ask.add_argument("--out", type=Path, default=Path("floods.svg"), help="memory as a picture")
    asked, every = ask.parse_args(), list[Sample]()
    with tempfile.TemporaryDirectory(prefix="spillway-floods-") as folder:
        served = Served(Path(folder), {})
        try:
            flat = [asyncio.run(flood(served, k, asked, every)) for k in asked.kinds.split(",")]
        finally:
            left = served.end()
        complaints = served.complaints()
    print(f"errors in the log: {len(complaints)}; left behind: {', '.join(left) or 'nothing'}")
    for line in complaints[:10]:
        print(f"  {line:.200}")
    return 0 if all(flat) and not complaints and not left else 1


if __name__ == "__main__":
    sys.exit(main())
