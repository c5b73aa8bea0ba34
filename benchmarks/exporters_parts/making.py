"""What all writers of files have in common; it runs in an exporter's environment, without Spillway.

A network is a function of a source of chance. Each is written to `OUT/SEED/NAME.ENDING`, with its
oracle in `OUT/SEED/NAME.json`, once: what is there is left. Before a network is tried its oracle
says that the exporter died, so that a crash is an answer too and is not tried again.
"""

from __future__ import annotations

import argparse
import json
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

Write = Callable[[Random, Path], "Mapping[str, Any]"]
"""Writes a network's file to a path without ending; its oracle, with `file`, the file's name."""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=1e9)
    return parser.parse_args()


def seeds(asked: argparse.Namespace) -> Iterator[int]:
    yield from range(asked.first, asked.first + asked.count)


def write_all(networks: Mapping[str, Write]) -> None:
    """Write what is not there, by the command line's arguments."""
    warnings.simplefilter("ignore")
    asked = arguments()
    for seed in seeds(asked):
        folder = asked.out / str(seed)
        folder.mkdir(parents=True, exist_ok=True)
        for name, write in networks.items():
            told = folder / f"{name}.json"
            if asked.only not in name or told.exists():
                continue
            told.write_text(json.dumps({"error": "the exporter's process died"}))
            try:
                found = dict(write(Random(f"{name.split('-')[0]} {seed}"), folder / name))
            except Exception as error:  # exporters raise whatever they like
                lines = [line for line in str(error).splitlines() if line.strip()] or [""]
                found = {"error": f"{type(error).__name__}: {lines[0].strip()[:160]}"}
                if asked.only:
                    traceback.print_exc()
            told.write_text(json.dumps(found))
            print(name, seed, found.get("error", ""), file=sys.stderr, flush=True)
