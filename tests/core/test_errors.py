"""Why there is no plan: proven, or none found; errors that come from another process are whole."""

from __future__ import annotations

import ast
import contextlib
import gc
import pickle
import re
import weakref
from collections.abc import Iterator
from pathlib import Path

import planners as sp
from planners.core.errors import refusal
from planners.core.units import parse_size

ROOT = Path(__file__).parents[2]
RAISES_A_NAME = re.compile(r"raise [a-z_]\w*( |$)", re.MULTILINE)


def test_infeasible_is_what_a_bound_proves() -> None:
    error = refusal(120, 101, 100, "conv2d", ("x", "y"), "the least is 120")
    assert isinstance(error, sp.BudgetTooSmall)
    assert (error.need_bytes, error.have_bytes, error.operator) == (120, 100, "conv2d")
    assert str(error).startswith("infeasible: operator 'conv2d' (x, y) needs 120 bytes at once")


def test_without_a_proof_none_was_found() -> None:
    error = refusal(120, 100, 100, "conv2d", ("x", "y"), "the least found is 120")
    assert isinstance(error, sp.NoPlanFound)
    assert not isinstance(error, sp.BadInput)
    assert (error.need_bytes, error.have_bytes, error.tensors) == (120, 100, ("x", "y"))
    assert str(error) == (
        "none found: no plan in 100 bytes, and no proof that none exists; 120 bytes have one, "
        "where operator 'conv2d' (x, y) binds; the least found is 120: allow more time, or a "
        "larger budget"
    )


def test_they_come_out_of_a_worker_as_they_went_in() -> None:
    for error in (
        refusal(120, 101, 100, "conv2d", ("x",), "more"),
        refusal(120, 0, 100, "conv2d", ("x",), "more"),
        sp.NoPlanFound("none found: nothing at all"),
    ):
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


class Text(str):
    """A text that can be watched."""


def test_who_is_refused_does_not_stay() -> None:
    """An error in a variable of the function that raises it is a circle: what was typed, four
    megabytes, stayed until Python looked for circles."""
    gc.disable()
    try:
        text = Text("x" * 4000)
        stays = weakref.ref(text)
        with contextlib.suppress(sp.BadInput):
            parse_size(text)
        del text
        assert stays() is None
    finally:
        gc.enable()


def test_no_function_holds_the_error_that_it_raises() -> None:
    found = [
        f"{path}:{line}"
        for room in ("planners", "app")
        for path in sorted((ROOT / room).rglob("*.py"))
        if RAISES_A_NAME.search(text := path.read_text("utf-8"))
        for line in held_errors(ast.parse(text))
    ]
    assert found == []
    assert list(held_errors(ast.parse("def f():\n wrong = E()\n raise wrong"))) == [3]


def held_errors(tree: ast.AST) -> Iterator[int]:
    """Lines that raise a variable which nothing deletes: those of `except` are deleted."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            parts = list(ast.walk(function))
            gone = {part.name for part in parts if isinstance(part, ast.ExceptHandler)}
            for part in parts:
                if isinstance(part, ast.Delete):
                    gone |= {each.id for each in part.targets if isinstance(each, ast.Name)}
            for part in parts:
                if isinstance(part, ast.Raise):
                    names = {each.id for each in _raised(part.exc) if each.id[0].islower()}
                    if names - gone:
                        yield part.lineno


def _raised(error: ast.expr | None) -> Iterator[ast.Name]:
    """The variables that may be what is raised."""
    parts = error.values if isinstance(error, ast.BoolOp) else [error]
    return (part for part in parts if isinstance(part, ast.Name))
