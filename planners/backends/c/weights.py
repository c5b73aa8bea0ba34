"""The constants of a network as C arrays, which a linker puts into flash."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Constants = Mapping[str, NDArray[Any]]
"""Arrays by their C names; their dtypes are those of stdint.h."""

_LINE = 96


def header(constants: Constants) -> str:
    """weights.h: what weights.c defines."""
    declared = [f"extern {_type(name, values)};" for name, values in constants.items()]
    body = "\n".join(declared)
    return f"#ifndef WEIGHTS_H\n#define WEIGHTS_H\n\n#include <stdint.h>\n\n{body}\n\n#endif\n"


def source(constants: Constants) -> str:
    """weights.c: the numbers."""
    arrays = [f"const {_type(n, v)[6:]} = {{\n{_rows(v)}\n}};\n" for n, v in constants.items()]
    return '#include "weights.h"\n\n' + "\n".join(arrays)


def _type(name: str, values: NDArray[Any]) -> str:
    return f"const {values.dtype.name}_t {name}[{values.size}]"


def _rows(values: NDArray[Any]) -> str:
    """The numbers in lines of about a hundred characters."""
    flat = values.reshape(-1)
    most = max(len(str(int(flat.min()))), len(str(int(flat.max())))) + 2
    step = max(1, _LINE // most)
    numbers = [str(number) for number in flat.tolist()]
    lines = (numbers[i : i + step] for i in range(0, len(numbers), step))
    return ",\n".join("    " + ", ".join(line) for line in lines)


def as_type(values: NDArray[Any], dtype: type[np.generic]) -> NDArray[Any]:
    """The same numbers in another type. Raises `OverflowError` where they do not fit."""
    converted = values.astype(dtype)
    if not np.array_equal(converted, values):
        raise OverflowError(f"numbers do not fit {np.dtype(dtype).name}")
    return converted
