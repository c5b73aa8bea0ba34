"""Pictures of the page's states, in windows of many sizes, light, dark and printed.

    python benchmarks/pictures.py after [--checkout OTHER] [--only first,fusion]
    python benchmarks/pictures.py after --beside before
    python benchmarks/pictures.py docs --docs
    python benchmarks/pictures.py app/assets --first

Each state of `STATES` is opened in Chromium with a server of its own, of this checkout or of
another, and kept as `after/STATE-THEME-SIZE.png`. `--beside` takes none: of two folders it makes
sheets, what a state was above what it is, in every size. `--docs` writes those of README and docs,
`--first` what a page without a link shows until its plan is there.
"""

from __future__ import annotations

import argparse
import json
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from explorer_parts.browser import chromium
from explorer_parts.server import ROOT, Server
from PIL import Image
from playwright.sync_api import Error, Page

SIZES = {"hall": (1280, 720), "large": (1920, 1080), "tablet": (1024, 768), "phone": (390, 844)}
THEMES = ("default", "dark")
PAPER = (1040, 735)
PATIENCE_MS, CALM_MS = 60_000, 2_500
SHEET_HEIGHT = 620
VIT = "?v=1&model=vit_b_16"
SMALL = "?v=1&model=squeezenet1_1&planner=fusion&budget=524288"


def nothing(_page: Page) -> None:
    """The state is that of the link."""


def too_small(page: Page) -> None:
    """A budget that nothing fits."""
    page.locator(".budget-typed input").fill("2 KiB")
    page.locator(".budget-typed input").press("Enter")
    page.locator(".message").wait_for(timeout=PATIENCE_MS)


def compared(page: Page) -> None:
    """Two plans, of which one was set aside."""
    page.keyboard.press("s")
    page.wait_for_timeout(CALM_MS)
    page.locator(".budget-typed input").fill("2 MiB")
    page.locator(".budget-typed input").press("Enter")
    page.wait_for_timeout(CALM_MS)
    if (button := page.locator(".open-compare button")).count():
        button.first.click()


def all_planners(page: Page) -> None:
    """The large chart, with what more memory buys."""
    page.locator(".pareto-box").scroll_into_view_if_needed()
    page.locator(".all-planners button").click()
    page.locator(".planners .buys tr.tap").first.wait_for(timeout=PATIENCE_MS)


def taught(page: Page) -> None:
    """Large words, for a hall: `p`, or `t` as it once was."""
    page.keyboard.press("p")
    page.wait_for_timeout(CALM_MS)
    if not page.locator(".presenter-bar h1").count():
        page.keyboard.press("t")


@dataclass(frozen=True, slots=True)
class State:
    """A link, and what is done there."""

    name: str
    query: str
    act: Callable[[Page], None] = nothing


STATES = [
    State("first", ""),
    State("cosma", VIT + "&planner=cosma&budget=MR"),
    State("fusion", "?model=mobilenet_v2&planner=fusion&budget=256KiB"),
    State("overlap", "?model=mobilenet_v2&planner=overlap&budget=256KiB"),
    State("streaming", "?model=mobilenet_v2&planner=streaming&budget=4MiB"),
    State("joined", "?model=mobilenet_v2&planner=joined&budget=256KiB"),
    *(
        State(model, f"?v=1&model={model}")
        for model in ("raft_large", "swin_b", "maskrcnn_resnet50_fpn", "densenet201", "vit_h_14")
    ),
    State("comparison", SMALL, compared),
    State("all-planners", SMALL, all_planners),
    State("teaching", VIT, taught),
    State("error", VIT, too_small),
    State("unknown", "?v=1&model=resnet5&budget=12+parsecs"),
]


def more_memory(page: Page) -> None:
    """What more memory buys, once all planners have answered."""
    page.locator(".all-planners button").click()
    page.locator(".planners .buys tr.tap").nth(3).wait_for(timeout=4 * PATIENCE_MS)
    page.locator(".planners .sweep-stop").wait_for(state="hidden", timeout=4 * PATIENCE_MS)


OF_DOCS = {
    "explorer.png": (State("first", ""), (1280, 720)),
    "pictures/more.png": (State("more", "", more_memory), (1280, 720)),
    **{f"pictures/{s.name}.png": (s, (1280, 1000)) for s in STATES[2:5]},
}
"""Files under `docs`, of which state each is, and in which window."""


def calm(page: Page) -> None:
    """Wait until the page has drawn."""
    page.wait_for_timeout(CALM_MS)


def shots(page: Page, state: State, theme: str) -> Iterator[tuple[str, bytes]]:
    """The state in each size, and on paper."""
    for name, (width, height) in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        calm(page)
        yield f"{state.name}-{theme}-{name}", page.screenshot()
    if theme == "default":
        width, height = PAPER
        page.set_viewport_size({"width": 1280, "height": 720})
        calm(page)
        page.evaluate("window.print = () => {}")
        page.keyboard.press("Control+p")
        calm(page)
        page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        page.emulate_media(media="print")
        page.set_viewport_size({"width": width, "height": height})
        calm(page)
        yield f"{state.name}-paper", page.screenshot(full_page=True)


def open_state(page: Page, address: str, state: State, theme: str) -> None:
    """Open the page in a state, once what it plans is there."""
    joint = "&" if state.query else "?"
    page.goto(f"{address}{state.query}{joint}theme={theme}")
    page.locator(".card.name").first.wait_for(timeout=PATIENCE_MS)
    calm(page)
    busy = page.get_by_text("Planning ", exact=False).first
    busy.wait_for(state="hidden", timeout=PATIENCE_MS)
    calm(page)
    state.act(page)


def take_docs(folder: Path, checkout: Path) -> None:
    """Write the pictures of README and docs."""
    with Server(root=checkout) as server, chromium() as context:
        for file, (state, (width, height)) in OF_DOCS.items():
            page = context.new_page()
            page.set_viewport_size({"width": width, "height": height})
            open_state(page, server.address, state, "default")
            calm(page)
            picture = Image.open(BytesIO(page.screenshot())).convert("RGB")
            picture.quantize(256).save(folder / file, optimize=True)
            page.close()


def take_first(folder: Path, checkout: Path) -> None:
    """Write the sentence on the first plan and a still picture of it, as the browser keeps them."""
    with Server(root=checkout) as server, chromium() as context:
        page = context.new_page()
        page.set_viewport_size({"width": 1280, "height": 720})
        open_state(page, server.address, State("first", ""), "default")
        page.evaluate("window.dispatchEvent(new Event('pagehide'))")
        last = json.loads(page.evaluate("localStorage.getItem('spillway-last')"))
    drawn = Image.open(BytesIO(b64decode(last["picture"].split(",")[1]))).convert("RGBA")
    white, packed = Image.new("RGBA", drawn.size, "white"), BytesIO()
    small = Image.alpha_composite(white, drawn).convert("RGB").reduce(2)
    small.save(packed, "WEBP", quality=40, method=6)
    picture = f"data:image/webp;base64,{b64encode(packed.getvalue()).decode()}"
    kept = {"words": last["words"], "picture": picture}
    (folder / "first_picture.json").write_text(json.dumps(kept), encoding="utf-8")


def take(folder: Path, checkout: Path, only: set[str]) -> int:
    """Keep pictures of all states, and say which could not be reached."""
    folder.mkdir(parents=True, exist_ok=True)
    failed = 0
    with Server(root=checkout) as server, chromium() as context:
        for state in STATES:
            for theme in THEMES if not only or state.name in only else ():
                page = context.new_page()
                page.set_viewport_size({"width": 1280, "height": 720})
                try:
                    open_state(page, server.address, state, theme)
                except Error as error:
                    failed += 1
                    print(f"{state.name}, {theme}: {str(error).splitlines()[0]}", flush=True)
                for name, picture in shots(page, state, theme):
                    (folder / f"{name}.png").write_bytes(picture)
                page.close()
    return failed


def sheet(before: Path, after: Path, state: str) -> Image.Image:
    """All pictures of a state and theme, those of before above."""
    rows = []
    for folder in (before, after):
        paths = [folder / f"{state}-{size}.png" for size in SIZES]
        pictures = [Image.open(path).convert("RGB") for path in paths if path.exists()]
        rows.append([_of_height(picture) for picture in pictures])
    width = max((sum(p.width + 8 for p in row) for row in rows), default=1)
    made = Image.new("RGB", (width, len(rows) * (SHEET_HEIGHT + 8)), "#888888")
    for number, row in enumerate(rows):
        x = 0
        for picture in row:
            made.paste(picture, (x, number * (SHEET_HEIGHT + 8)))
            x += picture.width + 8
    return made


def _of_height(picture: Image.Image) -> Image.Image:
    width = round(picture.width * SHEET_HEIGHT / picture.height)
    return picture.resize((width, SHEET_HEIGHT), Image.Resampling.LANCZOS)


def main() -> int:
    """Take pictures, or put two folders of them on sheets."""
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("folder", type=Path)
    ask.add_argument("--checkout", type=Path, default=ROOT, help="of which pictures are taken")
    ask.add_argument("--only", default="", help="names of states, comma separated")
    ask.add_argument("--beside", type=Path, help="another folder, of what was before")
    ask.add_argument("--docs", action="store_true", help="the pictures that the docs show")
    ask.add_argument("--first", action="store_true", help="the picture that a first page shows")
    asked = ask.parse_args()
    if asked.first:
        take_first(asked.folder, asked.checkout.resolve())
        return 0
    if asked.docs:
        take_docs(asked.folder, asked.checkout.resolve())
        return 0
    if asked.beside is None:
        only = set(filter(None, asked.only.split(",")))
        return 1 if take(asked.folder, asked.checkout.resolve(), only) else 0
    for state in STATES:
        for theme in THEMES:
            name = f"{state.name}-{theme}"
            sheet(asked.beside, asked.folder, name).save(asked.folder / f"sheet-{name}.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
