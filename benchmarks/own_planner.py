"""How long it takes from an empty folder to the plan of a planner of one's own on the page.

`python benchmarks/own_planner.py [--picture FILE]` writes the planner of `docs/extending.md` and
its registration into an empty folder, serves the explorer, and opens it in a browser (Playwright's
Chromium, or the one in CHROMIUM).
"""

from __future__ import annotations

import argparse
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import suppress
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
LINK = "main?model=squeezenet1_1&planner=mine&mine.tries=2"
PATIENCE_S = 120


def write(folder: Path) -> None:
    """The planner as the page has it, and its entry point as an installer leaves it."""
    page = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    (source,) = re.findall(r"^```python\n# my_package.py\n(.*?)^```$", page, re.M | re.S)
    (folder / "my_package.py").write_text(source)
    metadata = folder / "my_package-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[spillway.planners]\nmine = my_package:plan\n")


def serve(folder: Path, port: int) -> subprocess.Popen[bytes]:
    """The explorer, once it answers."""
    panel = Path(sys.executable).with_name("panel")
    paths = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
    server = subprocess.Popen(
        [str(panel), "serve", "app/main.py", "--port", str(port)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": paths, "SPILLWAY_CACHE": str(folder / "cache")},
        stderr=subprocess.DEVNULL,
    )
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        with suppress(OSError):
            urllib.request.urlopen(f"http://localhost:{port}/main", timeout=20).close()
            return server
        time.sleep(0.1)
    server.terminate()
    raise SystemExit("the server did not come up")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", help="a PNG of the page, once the plan is there")
    args = parser.parse_args()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        began = time.monotonic()
        write(Path(name))
        server = serve(Path(name), port)
        served = time.monotonic()
        try:
            browser = playwright.chromium.launch(executable_path=os.environ.get("CHROMIUM"))
            page = browser.new_page(viewport={"width": 1280, "height": 720})
            page.set_default_timeout(PATIENCE_S * 1000)
            page.goto(f"http://localhost:{port}/{LINK}")
            page.locator(".status .rest").wait_for()
            page.locator(".status .working, .status .former").first.wait_for(state="detached")
            page.locator(".card.peak").first.wait_for()
            planned = time.monotonic()
            print(f"server {served - began:.1f} s, page and plan {planned - served:.1f} s")
            print(page.locator(".card.name").first.inner_text().replace("\n", " · "))
            if args.picture:
                page.screenshot(path=args.picture)
            browser.close()
        finally:
            server.terminate()
            server.wait(30)


if __name__ == "__main__":
    main()
