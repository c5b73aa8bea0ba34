"""Parameters in a safetensors file, in the order in which they stream.

The documented format: 8 bytes with the header's length, a JSON header padded with spaces, the
data. Each layer's parameters follow each other and begin at a whole block of the file, so that
reads past the page cache need no others; tensors named `.pad.N` fill the gaps, as the format
allows none.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

from planners.backends.disk.layout import DiskLayout, Held
from planners.core.errors import BadInput
from planners.core.integers import rounded_up
from planners.core.reading_limits import parsed_json

BLOCK = 4096
HEADER_LIMIT = 100_000_000
"""Bytes of a header beyond which it is not read: the format's own limit."""
_ITEM = {"F64": 8, "I64": 8, "U64": 8, "F32": 4, "I32": 4, "U32": 4, "F16": 2, "BF16": 2}
_ITEM |= {"I16": 2, "U16": 2, "I8": 1, "U8": 1, "BOOL": 1, "F8_E4M3": 1, "F8_E5M2": 1}


@dataclass(frozen=True, slots=True)
class Stored:
    """A tensor in a file; `start` and `stop` are bytes from the file's beginning."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    start: int
    stop: int


def write_file(
    path: str | Path, layers: Sequence[Sequence[Held]], values: Iterable[bytes | memoryview]
) -> None:
    """Write layers' parameters; `values` gives the bytes of each, in order.

    The file is replaced whole or not at all, and is on the disk when this returns. Raises
    `BadInput` where it cannot be written or a value has not the bytes that it should.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(temporary, "wb") as file:
            _write(file, layers, iter(values))
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise BadInput(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _write(
    file: BinaryIO, layers: Sequence[Sequence[Held]], values: Iterator[bytes | memoryview]
) -> None:
    header, pads = _header(layers)
    text = json.dumps(header, separators=(",", ":")).encode()
    length = rounded_up(len(text) + 8, BLOCK) - 8
    file.write(struct.pack("<Q", length) + text.ljust(length))
    for layer, pad in zip(layers, pads, strict=True):
        for item in layer:
            value = next(values)
            if len(value) != item.size_bytes:
                raise BadInput(f"{item.stored!r}: {len(value)} bytes, not {item.size_bytes}")
            file.write(value)
        file.write(bytes(pad))


def _header(layers: Sequence[Sequence[Held]]) -> tuple[dict[str, Any], list[int]]:
    """The header, and how many bytes of padding follow each layer."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt", "order": "streaming"}}
    at, pads = 0, []
    for items in layers:
        for item in items:
            stop = at + item.size_bytes
            header[item.stored] = _entry(item.dtype, item.shape, at, stop)
            at = stop
        pads.append(-at % BLOCK)
        if pads[-1]:
            header[f".pad.{len(pads)}"] = _entry("U8", (pads[-1],), at, at + pads[-1])
            at += pads[-1]
    return header, pads


def _entry(dtype: str, shape: Sequence[int], start: int, stop: int) -> dict[str, Any]:
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [start, stop]}


def read_header(path: str | Path) -> dict[str, Stored]:
    """The tensors of a safetensors file, by name, every one checked against the file's size.

    Raises `BadInput` with the file, the tensor and the bytes that are missing or too many.
    """
    try:
        with open(path, "rb") as file:
            return _read_header(file, str(path))
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror or error}") from error


def _read_header(file: BinaryIO, path: str) -> dict[str, Stored]:
    size = os.fstat(file.fileno()).st_size
    if size < 8:
        raise BadInput(f"{path} is truncated: {size} bytes, {8 - size} missing for its length")
    (length,) = struct.unpack("<Q", file.read(8))
    if length > HEADER_LIMIT:
        raise BadInput(f"{path}: a header of {length} bytes is over the limit of {HEADER_LIMIT}")
    if size < 8 + length:
        missing = 8 + length - size
        raise BadInput(f"{path} is truncated: {missing} bytes of its header are missing")
    entries = _parsed(file.read(length), path)
    tensors = [_stored(path, name, entry, 8 + length) for name, entry in entries.items()]
    _check_ranges(path, tensors, 8 + length, size)
    return {tensor.name: tensor for tensor in tensors}


def _parsed(text: bytes, path: str) -> dict[str, Any]:
    try:
        header = parsed_json(text.decode("utf-8"), path, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path}: its header is malformed: {error}") from error
    if not isinstance(header, dict):
        raise BadInput(f"{path}: its header is no JSON object")
    header.pop("__metadata__", None)
    return header


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    by_name = dict(pairs)
    if len(by_name) != len(pairs):
        raise ValueError("a name is there twice")
    return by_name


def _stored(path: str, name: str, entry: Any, base: int) -> Stored:
    def fail(reason: str) -> BadInput:
        return BadInput(f"{path}: tensor {name!r:.80}: {reason}")

    if not isinstance(entry, Mapping):
        raise fail("its entry is not an object")
    dtype: Any = entry.get("dtype")
    shape: Any = entry.get("shape")
    offsets: Any = entry.get("data_offsets")
    if not isinstance(dtype, str) or dtype not in _ITEM:
        raise fail(f"unknown dtype {dtype!r:.40}")
    if not _counts(shape):
        raise fail(f"shape must be whole numbers, not {shape!r:.60}")
    if not _counts(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise fail(f"data_offsets must be a start and a stop, not {offsets!r:.60}")
    start, stop = offsets
    need = prod(shape) * _ITEM[dtype]
    if stop - start != need:
        raise fail(f"{stop - start} bytes in the file, {dtype} of shape {shape} takes {need}")
    return Stored(name, dtype, tuple(shape), base + start, base + stop)


def _counts(value: Any) -> bool:
    return isinstance(value, list) and all(type(n) is int and n >= 0 for n in value)


def _check_ranges(path: str, tensors: Sequence[Stored], base: int, size: int) -> None:
    """The tensors lie one after another from the data's beginning to its end."""
    ordered = sorted(tensors, key=lambda tensor: (tensor.start, tensor.stop))
    for tensor in ordered:
        if tensor.stop > size:
            raise BadInput(
                f"{path} is truncated: tensor {tensor.name!r:.80} ends at byte {tensor.stop}, the "
                f"file has {size}: {tensor.stop - size} bytes are missing"
            )
    ends = [Stored("", "U8", (), 0, base), *ordered, Stored("", "U8", (), size, size)]
    for before, tensor in pairwise(ends):
        if tensor.start < before.stop:
            raise BadInput(f"{path}: tensors {before.name!r:.80} and {tensor.name!r:.80} overlap")
        if tensor.start > before.stop:
            raise BadInput(f"{path}: {tensor.start - before.stop} bytes belong to no tensor")


def starts_of(path: str | Path, layout: DiskLayout) -> tuple[int, ...]:
    """Where each layer begins in a file, in bytes; 0 for layers without parameters.

    Raises `BadInput` where a tensor is missing or of another type or shape, and where the file is
    not in the plan's streaming order.
    """
    tensors = read_header(path)
    return tuple(_start(str(path), tensors, layer.held) for layer in layout.layers)


def _start(path: str, tensors: Mapping[str, Stored], items: Sequence[Held]) -> int:
    stored = []
    for item in items:
        tensor = tensors.get(item.stored)
        if tensor is None:
            raise BadInput(
                f"{path}: tensor {item.stored!r:.80} ({item.size_bytes} bytes) is missing; "
                "write the file anew for this plan"
            )
        if (tensor.dtype, tensor.shape) != (item.dtype, item.shape):
            raise BadInput(
                f"{path}: tensor {item.stored!r:.80} is {tensor.dtype} of shape "
                f"{list(tensor.shape)}, the plan needs {item.dtype} of {list(item.shape)}"
            )
        stored.append(tensor)
    apart = any(before.stop != after.start for before, after in pairwise(stored))
    if apart or (stored and stored[0].start % BLOCK):
        raise BadInput(
            f"{path}: the layer of tensor {items[0].stored!r:.80} does not lie together at a whole "
            f"block of {BLOCK} bytes: write the file anew for this plan"
        )
    return stored[0].start if stored else 0
