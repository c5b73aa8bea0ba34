"""Settings for all tests: Hypothesis's profile, and the browser that Playwright drives."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

CI = os.environ.get("CI", "").lower() not in ("", "0", "false")
UI = Path(__file__).parent / "ui"

settings.register_profile("local", deadline=None, max_examples=50)
settings.register_profile("ci", deadline=None, max_examples=50, derandomize=True)
settings.load_profile("ci" if CI else "local")

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


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """What pytest-playwright's `page` starts: the machine's own browser, without a window."""
    executable = find_chromium()
    if executable is None:
        reason = "no Chromium or Chrome found: install one, or name it in CHROMIUM"
        pytest.fail(reason) if CI else pytest.skip(reason)
    return {**browser_type_launch_args, "executable_path": executable, "args": list(_FLAGS)}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the browser tests and run them last: Playwright leaves an event loop running."""
    browser = [item for item in items if UI in item.path.parents]
    for item in browser:
        item.add_marker(pytest.mark.ui)
    items[:] = [item for item in items if item not in browser] + browser
