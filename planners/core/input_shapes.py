"""Shapes of inputs as people write them."""

from __future__ import annotations

import re

from planners.core.errors import BadInput

_SIZE = "[1-9][0-9]{0,9}"


def read_input_shapes(text: str) -> list[list[int]] | dict[str, int]:
    """Shapes of inputs, or sizes of axes that a file names. Raises `BadInput` for anything else.

    >>> read_input_shapes("1x3x224x224"), read_input_shapes("1x16; 1x2x4x8")
    ([[1, 3, 224, 224]], [[1, 16], [1, 2, 4, 8]])
    >>> read_input_shapes("batch_size=1, sequence_length=16")
    {'batch_size': 1, 'sequence_length': 16}

    An axis may be of size 0, as a cache's is before anything was said.
    """
    if "=" in text:
        return _by_name(text)
    shapes = []
    for written in re.split(r"\band\b|;", text):
        sizes = re.split(r"\s*[x×X*,]\s*", written.strip())
        if not all(re.fullmatch(_SIZE, size) for size in sizes):
            raise BadInput(
                f"{written.strip()!r:.40} is not an input shape; write e.g. 1x3x224x224, or sizes "
                "by the names that a file has for its axes, e.g. batch=1, sequence=16"
            )
        shapes.append([int(size) for size in sizes])
    return shapes


def _by_name(text: str) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for written in re.split(r"[,;]", text):
        name, _, size = (part.strip() for part in written.rpartition("="))
        if (
            not name
            or not re.fullmatch(f"0|{_SIZE}", size)
            or sizes.get(name, int(size)) != int(size)
        ):
            raise BadInput(
                f"{written.strip()!r:.60} is not the size of an axis; write e.g. batch=1, "
                "sequence=16, each name once"
            )
        sizes[name] = int(size)
    return sizes
