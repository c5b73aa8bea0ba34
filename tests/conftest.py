"""Settings for all tests: Hypothesis's profile, and the browser that Playwright drives."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.cases import MANY, USUAL

pytest_plugins = ["tests.clock.sitecustomize", "tests.ceiling"]

CI = os.environ.get("CI", "").lower() not in ("", "0", "false")
UI = Path(__file__).parent / "ui"
LONG_VARIANTS = frozenset(
    Path(__file__).with_name("long_variants.txt").read_text(encoding="utf-8").splitlines()
)
"""Those of parametrized tests that take longest: the usual run has their quicker siblings."""

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


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("all" if config.getoption("--all") else "usual")


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """What pytest-playwright's `page` starts: the machine's own browser, without a window."""
    executable = find_chromium()
    if executable is None:
        reason = "no Chromium or Chrome found: install one, or name it in CHROMIUM"
        pytest.fail(reason) if CI else pytest.skip(reason)
    return {**browser_type_launch_args, "executable_path": executable, "args": list(_FLAGS)}


def pytest_itemcollected(item: pytest.Item) -> None:
    if UI in item.path.parents:
        item.add_marker(pytest.mark.ui)
    if item.nodeid in LONG_VARIANTS:
        item.add_marker(pytest.mark.long)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is `long`, unless it is asked for; run the browser's tests last."""
    if not config.getoption("--all") and "long" not in config.getoption("markexpr"):
        left_out = [item for item in items if item.get_closest_marker("long")]
        items[:] = [item for item in items if not item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=left_out)
    # Playwright leaves an event loop running.
    items.sort(key=lambda item: item.get_closest_marker("ui") is not None)
