"""Settings for all tests: Hypothesis's profile, and the browser that Playwright drives."""

from __future__ import annotations

import argparse
import gc
import hashlib
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.cases import MANY, USUAL
from tests.scheduling import is_journey, with_journeys_first
from tests.scheduling import pytest_xdist_make_scheduler as pytest_xdist_make_scheduler

pytest_plugins = ["tests.clock.sitecustomize", "tests.work_clock", "tests.ceiling"]

# Before torch is imported, and for the processes that tests start: its threads wait for each other
# by spinning, which on busy cores costs many times what small networks take.
os.environ.setdefault("OMP_NUM_THREADS", "1")

CI = os.environ.get("CI", "").lower() not in ("", "0", "false")

settings.register_profile("usual", deadline=None, max_examples=USUAL, derandomize=CI)
settings.register_profile("all", deadline=None, max_examples=MANY, derandomize=CI)

_COMMANDS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_MAC_APPS = (
    "Chromium.app/Contents/MacOS/Chromium",
    "Google Chrome.app/Contents/MacOS/Google Chrome",
)
# No sandbox: it cannot work as root in a container. The rest keeps the browser off the network.
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def find_chromium() -> str | None:
    """The Chromium or Chrome of this machine; `CHROMIUM` in the environment names another."""
    apps = [
        str(base / app)
        for base in (Path("/Applications"), Path.home() / "Applications")
        for app in _MAC_APPS
    ]
    for candidate in (os.environ.get("CHROMIUM", ""), *_COMMANDS, *apps):
        if candidate and (found := shutil.which(candidate)):
            return found
    return None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--all", action="store_true", help="the tests marked `long` too, and four times the cases"
    )
    parser.addoption(
        "--some-long",
        type=_some,
        metavar="SEED[/PARTS]",
        help="of those marked `long` a sixth, or another part, chosen by the seed; no others",
    )


def pytest_configure(config: pytest.Config) -> None:
    gc.disable()  # Collection makes a million objects and drops none: looking takes half its time.
    settings.load_profile("all" if config.getoption("--all") else "usual")


def pytest_collection_finish() -> None:
    gc.enable()
    gc.freeze()  # Nor do the tests look at them again and again.


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """What a file leaves (modules, caches) is not looked at in those after it: a fifth of all time,
    two seconds at once, in whatever test it came."""
    if nextitem is None or nextitem.path != item.path:
        gc.collect()
        gc.freeze()


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """What pytest-playwright's `page` starts: the machine's own browser, without a window."""
    executable = find_chromium()
    if executable is None:
        reason = "no Chromium or Chrome found: install one, or name it in CHROMIUM"
        pytest.fail(reason) if CI else pytest.skip(reason)
    return {**browser_type_launch_args, "executable_path": executable, "args": list(_FLAGS)}


def pytest_itemcollected(item: pytest.Item) -> None:
    if is_journey(item):
        item.add_marker(pytest.mark.ui)


def _some(text: str) -> tuple[str, int]:
    """`SEED` or `SEED/PARTS`: what chooses one part of so many."""
    seed, _, parts = text.partition("/")
    if not seed or not (parts or "6").isdigit() or int(parts or 6) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: write SEED, or SEED/PARTS")
    return seed, int(parts or 6)


def is_of_the_part(item: pytest.Item, seed: str, parts: int, part: int = 0) -> bool:
    """Whether a test falls into that part of so many, by a hash of its name and the seed."""
    digest = hashlib.sha256(f"{seed} {item.nodeid}".encode()).hexdigest()
    return int(digest, 16) % parts == part


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is `long`, unless it is asked for."""
    if some := config.getoption("--some-long"):
        is_left = [
            item.get_closest_marker("long") is not None and is_of_the_part(item, *some)
            for item in items
        ]
    elif config.getoption("--all") or "long" in config.getoption("markexpr"):
        is_left = [True] * len(items)
    else:
        is_left = [item.get_closest_marker("long") is None for item in items]
    left_out = [item for item, left in zip(items, is_left) if not left]
    kept = [item for item, left in zip(items, is_left) if left]
    config.hook.pytest_deselected(items=left_out)
    items[:] = with_journeys_first(config, kept)
