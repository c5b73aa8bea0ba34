"""Each place that writes a file, on a disk that is full: a line or a warning, and nothing left."""

from __future__ import annotations

import contextlib
import random
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.jobs.protocol import Request
from app.jobs.results import ResultStore
from app.model import upload_store
from app.model.state import ProblemFields
from planners.backends.c.folder import replace_folder
from planners.backends.disk.weights import write_file
from planners.catalogue import cache
from planners.core.errors import BadInput
from planners.core.files import write_json
from planners.papers.memo import Memo
from planners.study.sweep import KeptRows
from tests.random_graphs import random_graph

resource = pytest.importorskip("resource")
NOISE = random.Random(1).randbytes(20_000)


@contextlib.contextmanager
def full_disk(most_bytes: int = 100) -> Iterator[None]:
    """No file of this process may grow any further meanwhile."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    was = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, was)


def an_answer(place: Path) -> None:
    line = f'{{"name": "plan", "noise": "{NOISE.hex()}"}}'
    ResultStore(place, 2**20).keep(Request("plan", ProblemFields().values_by_name()), [line], 1.0)


def a_graph(place: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPILLWAY_CACHE", str(place))
        cache.put("entry", random_graph(1, 50))


def an_upload(place: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPILLWAY_CACHE", str(place))
        upload_store.keep("a.cfg", b"[net]\nwidth=8\n" + b"#" * 5000)


def rows(place: Path) -> None:
    with KeptRows(place / "rows.jsonl") as kept:
        kept.add("key", {"noise": NOISE.hex()})


def a_short_row(place: Path) -> None:
    """It stays in a buffer, which is written once more as the file is closed."""
    with KeptRows(place / "rows.jsonl") as kept:
        kept.add("key", {"noise": NOISE[:200].hex()})


def a_result(place: Path) -> None:
    Memo(place / "results.jsonl").keep(["cell", 1], NOISE[:200].hex())


WRITES: dict[str, tuple[Callable[[Path], object], bool]] = {
    "a file": (lambda place: write_json(place / "plan.json", NOISE.hex()), True),
    "code": (lambda place: replace_folder(place / "code", {"model.c": NOISE.hex()}), True),
    "weights": (lambda place: write_file(place / "w.bin", [], []), True),
    "rows": (rows, True),
    "a short row": (a_short_row, True),
    "a result": (a_result, True),
    "an upload": (an_upload, True),
    "an answer": (an_answer, False),
    "a graph": (a_graph, False),
}
"""What is written where, and whether it is refused in a line; what is kept in caches only warns."""


@pytest.mark.parametrize("name", WRITES)
def test_a_full_disk_is_told_and_leaves_nothing(name: str, tmp_path: Path) -> None:
    write, refused = WRITES[name]
    words = "File too large"
    told = pytest.raises(BadInput, match=words) if refused else pytest.warns(match=words)
    with told as found, full_disk():
        write(tmp_path)
    (line,) = [str(found.value)] if refused else [str(one.message) for one in found]
    assert "\n" not in line
    left = [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".jsonl"]
    assert left == []
