"""What reads strangers' inputs: a function for each kind, and how large a share of inputs it gets.

A loader takes bytes, and raises `SpillwayError` for what it refuses. Whatever else it raises is a
failure. What is read is used as its callers would: a plan is checked, another tool's judged.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from urllib.parse import parse_qsl

import planners as sp
from app.jobs.files import read_data, read_text
from app.jobs.results import ResultStore
from app.model.upload_store import kind_of
from planners.allocation.csv_io import read_lifetimes
from planners.audits.readers.by_format import read_plan
from planners.catalogue import cache
from planners.core.errors import BadInput

Loader = Callable[[bytes], object]
LONGEST = 1100
"""Characters of a message: whoever reads it has one line."""


class WrongAnswer(AssertionError):
    """An answer that breaks a promise, though nothing was raised."""


def _file(name: str, data: bytes) -> Path:
    path = Path(name)
    path.write_bytes(data)
    return path


def _network(suffix: str) -> Loader:
    def read(data: bytes) -> object:
        path = _file(f"net.{suffix}", data)
        with contextlib.suppress(sp.SpillwayError):
            kind_of(path.name, data)
        graph = sp.load(path)
        if sp.Graph.from_json(json.loads(json.dumps(graph.to_json()))) != graph:
            raise WrongAnswer("the graph is another one once it was written")
        return sp.budgets(graph)

    return read


def _tflite(data: bytes) -> object:
    """Read as the others, then by its own types, planned and run by its kernels."""
    read = _network("tflite")(data)
    path = _file("net.tflite", data)
    graph = sp.load(path, bytes_per_element="native", fold_padding=False)
    sp.execute(sp.plan(graph, "cosma", sp.budgets(graph).MP, time_limit=1), path)
    return read


def _foreign(name: str, beside: tuple[str, str] = ("", "")) -> Loader:
    def read(data: bytes) -> object:
        if beside[0]:
            from tests.fuzz.corpus import DATA

            _file(beside[0], (DATA / beside[1]).read_bytes())
        return read_plan(_file(name, data))

    return read


def _plan(data: bytes) -> object:
    kind_of("plan.json", data)
    return sp.check(sp.Plan.from_json(read_data(read_text(_file("plan.json", data), "plan.json"))))


def _graph(data: bytes) -> object:
    return sp.budgets(sp.load(_file("net.json", data)))


def _page(data: bytes) -> object:
    return sp.check(sp.Plan.load(_file("plan.html", data)))


def _machine(data: bytes) -> object:
    machine = sp.load_machine(_file("machine.toml", data))
    return sp.load_machine(_file("again.toml", machine.to_toml().encode()))


def _table(data: bytes) -> object:
    path = _file("rows.csv", data)
    with contextlib.suppress(sp.SpillwayError):
        read_plan(path)
    return read_lifetimes(path)


def _result(data: bytes) -> object:
    found = ResultStore(Path(), 2**20).read(_file("answer.gz", data))
    if found is None:
        raise BadInput("it is planned again")
    return found


def _link(data: bytes) -> object:
    from app.links.url import from_query
    from app.model.state import ProblemFields

    problem, _, wrong = from_query(dict(parse_qsl(data.decode("utf-8", "replace"))))
    ProblemFields(**problem)
    for line in wrong:
        _one_line(line)
    if wrong:
        raise BadInput(wrong[0])
    return problem


def _command(data: bytes) -> object:
    from planners.cli import main

    words = data.decode("utf-8", "replace").replace("\0", "").split()
    if {"reproduce", "--help", "--version"} & set(words):
        raise BadInput("left out")
    _here_is_all_that_commands_read()
    before = Path("net.json").read_bytes()
    told, answer = io.StringIO(), io.StringIO()
    with contextlib.redirect_stderr(told), contextlib.redirect_stdout(answer):
        try:
            main(words)
        except SystemExit as ended:
            code = ended.code
    if code not in (0, 1, 2, 3):
        raise WrongAnswer(f"exit code {code}")
    if Path("net.json").read_bytes() != before:
        raise WrongAnswer("the network that it read was written")
    if code:
        lines = [line for line in told.getvalue().splitlines() if line.startswith("spillway: ")]
        if len(lines) != 1:
            raise WrongAnswer(f"{len(lines)} lines say what is wrong")
        raise BadInput(lines[0])
    return answer.getvalue()


def _here_is_all_that_commands_read() -> None:
    from tests.fuzz.corpus import HERE

    _file("net.json", (HERE / "graph" / "whole.json").read_bytes())
    _file("plan.json", (HERE / "plan" / "whole.json").read_bytes())
    _file("rows.csv", (HERE / "table" / "rows.csv").read_bytes())
    _file("machine.toml", next((HERE / "machine").iterdir()).read_bytes())


LOADERS: Mapping[str, Loader] = {
    "onnx": _network("onnx"),
    "pt2": _network("pt2"),
    "tflite": _tflite,
    "darknet": _network("cfg"),
    "pte": _foreign("net.pte"),
    "machine": _machine,
    "plan": _plan,
    "graph": _graph,
    "page": _page,
    "table": _table,
    "vela": _foreign("listing.txt"),
    "xla": _foreign("m-buffer-assignment.txt", ("m-live-range.txt", "xla_block-live-range.txt")),
    "lives": _foreign(
        "m-live-range.txt", ("m-buffer-assignment.txt", "xla_block-buffer-assignment.txt")
    ),
    "cache": cache.decode,
    "result": _result,
    "link": _link,
    "command": _command,
}
SHARES = {
    "command": 1,
    "darknet": 4,
    "onnx": 5,
    "pt2": 3,
    "tflite": 5,
    "plan": 12,
    "graph": 12,
    "machine": 12,
}
USUAL = 10
"""Of the inputs, in parts: slow loaders get fewer."""


def _one_line(message: str) -> None:
    if "\n" in message:
        raise WrongAnswer(f"a message of several lines: {message!r:.200}")
    if len(message) > LONGEST:
        raise WrongAnswer(f"a message of {len(message)} letters: {message!r:.100}")


def is_right(loader: str, data: bytes) -> bool:
    """Whether an input is read, else it is refused in one line. Raises whatever is a failure."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            LOADERS[loader](data)
        except sp.SpillwayError as error:
            _one_line(str(error))
            return False
    return True


@contextlib.contextmanager
def own_folder() -> Iterator[None]:
    """A folder that is the current one meanwhile, and gone afterwards."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="spillway-fuzz-") as place:
        os.chdir(place)
        try:
            yield
        finally:
            os.chdir(before)
