"""Sizes in and out of text, exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import planners as sp


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("256KiB", 262144),
        ("0.3KB", 300),
        ("1_000", 1000),
        (np.int64(7), 7),
        (2**53 + 1, 2**53 + 1),
        (str(2**53 + 1), 2**53 + 1),
        ("1.000000001GB", 10**9 + 1),
        ("1.2 MiB", 1258291),
        ("0.001 KiB", 1),
    ],
)
def test_sizes_are_exact(text: Any, size: int) -> None:
    assert sp.parse_size(text) == size


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0",
        "1.5",
        "1.5 B",
        "0.0001 KiB",
        "1.2.3",
        "-1",
        "9" * 400,
        "9" * 5000,
        2**63,
        10**400,
        1.5,
        None,
        "1e9",
    ],
)
def test_what_is_no_size_is_bad_input(text: Any) -> None:
    with pytest.raises(sp.BadInput):
        sp.parse_size(text)
