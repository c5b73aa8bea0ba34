"""Why there is no plan: proven, or none found; errors that come from another process are whole."""

from __future__ import annotations

import pickle

import planners as sp
from planners.core.errors import refusal


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
        "none found: no plan in 100 bytes, nor a proof that there is none; 120 bytes have one, "
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
