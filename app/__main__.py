"""`python -m app`: serve the explorer on this machine and open it in the browser."""

from __future__ import annotations

import argparse
from pathlib import Path

import panel as pn

from app.server.install import install_guards


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(prog="python -m app", description=__doc__)
    parser.add_argument("--port", type=int, default=5006, help="default 5006; 0 takes a free one")
    parser.add_argument("--address", default="localhost", help="which interface to listen on")
    parser.add_argument(
        "--allow-websocket-origin",
        metavar="NAME",
        action="append",
        help="host and port under which others reach it; repeatable",
    )
    parser.add_argument("--no-show", action="store_true", help="do not open a browser")
    given = parser.parse_args()
    install_guards()
    pn.serve(
        {"/": Path(__file__).with_name("main.py")},
        port=given.port,
        address=given.address,
        websocket_origin=given.allow_websocket_origin,
        show=not given.no_show,
        title="Spillway",
    )


if __name__ == "__main__":
    main()
