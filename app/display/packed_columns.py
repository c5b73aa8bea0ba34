"""Columns as text for a JSON message: each number in the fewest bytes that hold all of a column."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np

Columns = TypeVar("Columns")
_WHOLE = ("<i1", "<i2", "<i4", "<i8")


def pack_columns(columns: Any) -> dict[str, Any]:
    """A dataclass of numpy arrays and tuples of names: arrays as kind, shape and packed bytes."""
    texts: dict[str, Any] = {}
    for field in fields(columns):
        value = getattr(columns, field.name)
        texts[field.name] = _text(value) if isinstance(value, np.ndarray) else list(value)
    return texts


def unpack_columns(kind: type[Columns], data: Mapping[str, Any]) -> Columns:
    """What `pack_columns` was given. Raises `KeyError`, `TypeError` or `ValueError`."""
    columns = {}
    for field in fields(kind):  # type: ignore[arg-type]
        value = data[field.name]
        columns[field.name] = _array(value) if isinstance(value, dict) else tuple(value)
    return kind(**columns)


def _text(values: Any) -> dict[str, Any]:
    dtype = values.dtype.newbyteorder("<")
    if dtype.kind == "i":
        low, high = int(values.min(initial=0)), int(values.max(initial=0))
        ranges = ((kind, np.iinfo(kind)) for kind in _WHOLE)
        dtype = np.dtype(next(k for k, r in ranges if r.min <= low and high <= r.max))
    data = zlib.compress(np.ascontiguousarray(values, dtype).tobytes(), 1)
    return {
        "now": dtype.str,
        "was": values.dtype.str,
        "shape": list(values.shape),
        "data": base64.b64encode(data).decode(),
    }


def _array(text: Mapping[str, Any]) -> Any:
    data = zlib.decompress(base64.b64decode(text["data"]))
    return np.frombuffer(data, text["now"]).astype(text["was"]).reshape(text["shape"])
