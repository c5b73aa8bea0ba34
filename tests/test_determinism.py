"""The same input, options and seed: the same plan, whatever the process, threads and hashes.

The problems are small enough that no clock decides: each search ends before its limit.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ASKS = """
import hashlib, json, multiprocessing, sys
import planners as sp
from tests.overlap.small_nets import Builder
from tests.random_graphs import random_graph

def network():
    b = Builder((1, 3, 12, 12))
    x = b.conv("x", 8, (3, 3), padding=(1, 1), activation="relu")
    y = b.conv(b.depthwise(x, (3, 3), (1, 1), (1, 1)), 8)
    x = b.same("add", x, y)
    return b.graph(b.linear(b.conv(x, 6, (3, 3), (2, 2)), 5))

ASKED = {
    "cosma": ("random", {}),
    "cosma joint": ("random", {"schedule": "joint"}),
    "cosma mpmf": ("random", {"schedule": "mpmf"}),
    "cosma latency": ("random", {"objective": "latency"}),
    "cosma hill": ("random", {"replacement": "hill_climb"}),
    "fusion": ("network", {}),
    "fusion joint": ("network", {"joint": True}),
    "fusion latency": ("network", {"objective": "latency"}),
    "overlap": ("network", {}),
    "streaming": ("network", {}),
    "streaming seq": ("network", {"pipeline": "seq"}),
}

def plan(name):
    which, options = ASKED[name]
    graph = random_graph(3, 12) if which == "random" else network()
    budget = "MR" if which == "random" else "8 KiB" if "streaming" in name else "3 KiB"
    made = sp.plan(graph, name.split()[0], budget=budget, time_limit=60, **options)
    told = made.to_json()
    del told["claims"]["plan_s"]  # what the clock said of it
    text = json.dumps(told)
    return hashlib.sha256(text.encode()).hexdigest()

if __name__ == "__main__":
    if sys.argv[1] == "pool":
        with multiprocessing.get_context("fork").Pool(2) as pool:
            found = dict(zip(ASKED, pool.map(plan, ASKED, chunksize=1)))
    else:
        found = {name: plan(name) for name in reversed(ASKED)}
    print(json.dumps(found))
"""


def answers(place: Path, how: str, hashes: str, threads: str) -> dict[str, str]:
    """A hash of each plan, made by a process of its own."""
    script = place / "asks.py"
    script.write_text(ASKS)
    root = str(Path(__file__).parents[1])
    done = subprocess.run(
        [sys.executable, str(script), how],
        env={
            **os.environ,
            "PYTHONPATH": root,
            "PYTHONHASHSEED": hashes,
            "OMP_NUM_THREADS": threads,
            "OPENBLAS_NUM_THREADS": threads,
        },
        cwd=place,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What a process finds that has one thread."""
    return answers(tmp_path_factory.mktemp("alone"), "alone", "0", "1")


@pytest.mark.parametrize(("how", "hashes", "threads"), [("alone", "1", "4"), ("pool", "2", "2")])
def test_a_plan_is_the_same_in_every_process(
    alone: dict[str, str], tmp_path: Path, how: str, hashes: str, threads: str
) -> None:
    assert len(set(alone.values())) > len(alone) / 2
    assert answers(tmp_path, how, hashes, threads) == alone
