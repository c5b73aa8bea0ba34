"""Links: problem and look survive the way into an address and back; nothing else gets in."""

from __future__ import annotations

from urllib.parse import parse_qsl

import pytest

from app.first import first_shown
from app.scripts import as_python
from app.session import Session
from app.sizes import format_exact, plain_budget, plain_shape
from app.state import Look, Problem
from app.url import from_query, problem_of, to_query
from planners.errors import BadInput


def read(query: str) -> tuple[dict[str, object], dict[str, object], list[str]]:
    return from_query(dict(parse_qsl(query.lstrip("?"))))


def test_a_link_says_all_of_the_problem_and_the_look() -> None:
    problem = Problem(model="resnet18", budget="256 KiB", parameters=True, time_limit=7)
    look = Look(step=12, selection="tensor:relu_", unit="hex", serial=True, colour="MACs")
    found, seen, wrong = read(to_query(problem, look))
    assert wrong == []
    assert Problem(**found).values_by_name() == problem.values_by_name()
    assert (seen["step"], seen["selection"], seen["unit"]) == (12, "tensor:relu_", "hex")
    assert (seen["serial"], seen["colour"]) == (True, "MACs")


def test_an_address_without_a_version_is_the_first_page() -> None:
    assert read("?theme=dark") == ({}, {}, [])


def test_another_version_is_said_to_be_another() -> None:
    assert "version" in read("?v=99&model=resnet18")[2][0]


@pytest.mark.parametrize(
    "text",
    [
        "model=/etc/passwd",
        "model=../graph.json",
        "machine=abacus",
        "planner=oracle",
        "budget=lots",
        "budget=-1",
        "bytes_per_element=3",
        "time_limit=0",
        "parameters=maybe",
        "granularity=coarse",
        "input_shape=1x3xbig",
        "model=timm:hf-hub:x/y",
        "step=-2",
    ],
)
def test_what_a_link_may_not_say_is_one_line_and_changes_nothing(text: str) -> None:
    problem, look, wrong = read("?v=1&" + text)
    assert (problem, look) == ({}, {})
    assert len(wrong) == 1
    assert text.split("=")[0] in wrong[0]


def test_the_copied_python_plans_the_same() -> None:
    problem = Problem(model="squeezenet1_1", time_limit=5)
    names: dict[str, object] = {"print": lambda *_: None}
    exec(as_python(problem), names)
    assert names["plan"].graph.name == "squeezenet1_1"  # type: ignore[attr-defined]


def test_a_plan_says_what_problem_it_answers() -> None:
    fields = problem_of(first_shown().plan)
    session = Session(None)  # type: ignore[arg-type]
    assert Problem(**fields).model == session.problem.model
    assert fields["planner"] == "cosma"


def test_sizes_are_written_so_that_they_read_back() -> None:
    for size in (1, 1000, 1024, 2**20, 3 * 2**19, 12345):
        assert plain_budget(format_exact(size)) == size
    assert plain_budget(" mr ") == "MR"
    with pytest.raises(BadInput, match="is not a size"):
        plain_budget("256 elephants")


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("", None),
        ("8", 8),
        ("1x3x224x224", [[1, 3, 224, 224]]),
        ("1, 3, 8, 8", [[1, 3, 8, 8]]),
        ("1×3 and 2×4", [[1, 3], [2, 4]]),
    ],
)
def test_input_shapes_are_read(text: str, shape: object) -> None:
    assert plain_shape(text) == shape


@pytest.mark.parametrize("text", ["0", "1x", "1x-3", "big", "1x3x1e3", "and"])
def test_what_is_no_input_shape_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="not an input shape"):
        plain_shape(text)
