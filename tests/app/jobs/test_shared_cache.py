"""Two servers with one cache, which is too small for both, on machines whose clocks disagree."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from app.model import upload_store

SERVER = """
import random, sys
from pathlib import Path
from app.jobs.protocol import Request
from app.jobs.results import ResultStore
from app.model.state import ProblemFields
rng, kept = random.Random(int(sys.argv[2])), ResultStore(Path(sys.argv[1]), 20_000)
read = 0
for _ in range(200):
    number = rng.randrange(12)
    request = Request("plan", {**ProblemFields().values_by_name(), "budget": f"{number + 1} KiB"})
    line = random.Random(number).randbytes(1000).hex()
    if rng.random() < 0.5:
        kept.keep(request, [line], 1.0)
    elif (answer := kept.recall(request)) is not None:
        assert answer.lines == (line,), "half an answer, or another one's"
        read += 1
print(read)
"""


def test_two_servers_in_one_cache_read_whole_answers(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-c", SERVER, str(tmp_path)]
    servers = [
        subprocess.Popen([*command, str(seed)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for seed in (1, 2)
    ]
    for server in servers:
        said, wrong = server.communicate(timeout=120)
        assert (server.returncode, wrong) == (0, b"")
        assert int(said) > 10
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 20_000
    assert not list(tmp_path.glob(".writing-*"))


@pytest.mark.parametrize("days", [-30, 30])
def test_a_clock_that_was_set_makes_room_all_the_same(
    days: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPILLWAY_CACHE", str(tmp_path))
    monkeypatch.setenv("SPILLWAY_UPLOADS", "10 KiB")
    first = upload_store.keep("a.cfg", b"[net]\n" + b"#" * 6000)
    now = time.time()
    monkeypatch.setattr(upload_store.time, "time", lambda: now + 86_400 * days)
    second = upload_store.keep("b.cfg", b"[net]\n" + b"-" * 6000)
    assert not upload_store.there(first)
    assert upload_store.there(second)
