"""How far is it, for somebody who has read nothing, to what people come for?

    python benchmarks/newcomer.py [--times 3]

Four ways through the page as it opens, in Chromium, with a server of its own: which planner fits an
ONNX file of one's own into 128 KiB; why a tensor is spilled; what a plan's peak is made of; a view
for the hall. Prints what had to be done (a click, a drop, a typed size, a key), and seconds from
the first of these until the answer could be read, without the time that a person thinks: the median
and the longest. The page was open before.
"""

from __future__ import annotations

import argparse
import io
import statistics
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import torch
from explorer_parts.browser import PATIENCE_MS, chromium
from explorer_parts.server import Server
from playwright.sync_api import Page, expect
from torch import nn

SPILLS = "?model=vit_b_16&planner=cosma&budget=MR"


def onnx_file() -> bytes:
    """Blocks of convolutions over 96 pixels, as PyTorch exports them."""
    layers: list[nn.Module] = [nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU6()]
    for wide, after in pairwise((16, 24, 32, 64, 96, 160)):
        layers += [nn.Conv2d(wide, 6 * wide, 1), nn.ReLU6()]
        layers += [nn.Conv2d(6 * wide, 6 * wide, 3, padding=1, groups=6 * wide), nn.ReLU6()]
        layers += [nn.Conv2d(6 * wide, after, 1), nn.MaxPool2d(2 if wide > 16 else 1)]
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(160, 10)]
    out = io.BytesIO()
    torch.onnx.export(
        nn.Sequential(*layers).eval(), (torch.zeros(1, 3, 96, 96),), out, dynamo=False
    )
    return out.getvalue()


class Hand:
    """What somebody does, counted."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.done: list[str] = []

    def click(self, css: str, word: str, *, text: str = "") -> None:
        at = self.page.locator(css, has_text=text) if text else self.page.locator(css)
        at.first.click()
        self.done.append(f"click *{word}*")

    def scroll(self, css: str, word: str) -> None:
        self.page.locator(css).first.scroll_into_view_if_needed()
        self.done.append(f"scroll to *{word}*")

    def key(self, name: str) -> None:
        self.page.keyboard.press(name)
        self.done.append(f"key `{name}`")

    def type(self, css: str, value: str) -> None:
        self.page.locator(css).first.fill(value)
        self.page.keyboard.press("Enter")
        self.done.append(f"type {value}")

    def drop(self, name: str, data: bytes) -> None:
        given = {"name": name, "mimeType": "application/octet-stream", "buffer": data}
        self.page.locator(".upload input").first.set_input_files(given)
        self.done.append(f"drop {name}")


def which_planner(hand: Hand) -> None:
    """Which planner fits my ONNX file into 128 KiB?"""
    hand.drop("mine.onnx", onnx_file())
    expect(hand.page.locator(".card.name")).to_contain_text("mine")
    hand.type(".budget-typed input", "128 KiB")
    shown = hand.page.locator(".verdict, .message").filter(has_text="128 KiB")
    expect(shown.first).to_be_visible()
    hand.scroll(".pareto-box", "Pareto front")
    hand.click(".all-planners button", "What more memory buys")
    expect(hand.page.locator(".planners .answer")).to_contain_text("buys")


def why_spilled(hand: Hand) -> None:
    """Why is this tensor spilled?"""
    hand.click(".details tr.tap", "the first that moved most for want of memory")
    hand.click(".details tr", "steps 8 – 9: leaves", text="leaves")
    expect(hand.page.locator(".story tr", has_text="short of keeping").first).to_be_visible()


def what_peak(hand: Hand) -> None:
    """What is my peak made of?"""
    hand.click(".switch.panel button", "peak", text="peak")
    hand.click(".ask-peak button", "What is my peak made of?")
    expect(hand.page.locator(".peak-rows tr").nth(2)).to_be_visible()


def to_the_hall(hand: Hand) -> None:
    """Show this to the hall."""
    hand.key("p")
    expect(hand.page.locator(".presenter-bar h1")).to_be_visible()


WAYS: list[tuple[str, Callable[[Hand], None]]] = [
    ("", which_planner),
    (SPILLS, why_spilled),
    (SPILLS, what_peak),
    ("", to_the_hall),
]


def main() -> int:
    """Go each way some times, and print what it took."""
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--times", type=int, default=3)
    ask.add_argument("--pictures", type=Path, help="a folder for what is on screen at the end")
    asked = ask.parse_args()
    expect.set_options(timeout=PATIENCE_MS)
    print("| who wants to know | does | seconds, median | longest |\n|---|---|--:|--:|")
    with Server() as server, chromium() as context:
        for query, way in WAYS:
            took, done = [], list[str]()
            for _ in range(asked.times):
                page = context.new_page()
                page.goto(server.address + query)
                expect(page.locator(".live tr.tap").first).to_be_visible()
                page.wait_for_timeout(2000)
                hand, began = Hand(page), time.perf_counter()
                way(hand)
                took.append(time.perf_counter() - began)
                done = hand.done
                if asked.pictures:
                    asked.pictures.mkdir(exist_ok=True)
                    page.screenshot(path=asked.pictures / f"{way.__name__}.png")
                page.close()
            told = (way.__doc__ or "").strip()
            middle = statistics.median(took)
            print(f"| {told} | {', '.join(done)} | {middle:.1f} | {max(took):.1f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
