"""Tensors of an ExecuTorch program that its network does not name: copies that the exporter makes.

A linear layer's weight is transposed into the arena in every run, and state is not written in
place: its next content is made whole beside it, and copied over it at the end.
"""

from __future__ import annotations

from planners.audits.readers.pte_lifetimes import Lives, Method

TRANSPOSES = frozenset({"aten::permute_copy", "aten::transpose_copy", "aten::t_copy"})
WRITES = frozenset(
    "aten::index_put aten::slice_scatter aten::select_scatter aten::scatter aten::index_copy "
    "aten::scatter_add aten::index_add".split()
)
"""What gives its first operand with some of it written anew."""
OVER = "aten::copy_"


def copies_in(method: Method, live: Lives) -> dict[int, str]:
    """What each such tensor is, by its number, in words."""
    found: dict[int, str] = {}
    written: dict[int, int] = {}
    for instruction in method.instructions:
        values = instruction.values
        if instruction.kind != "kernel" or len(values) < 2:
            continue
        first, made = values[0], values[-1]
        if instruction.name in TRANSPOSES and first in method.constants and made in method.tensors:
            found[made] = f"a transposed copy of {method.constants[first] or f'constant {first}'}"
        elif instruction.name in WRITES:
            written[made] = first
        elif instruction.name == OVER and first in live.state and _whole(method, *values[:2]):
            state = method.tensors[first].name or f"state {first}"
            is_copy = written.get(values[1]) == first
            found[values[1]] = f"a copy of {state}" if is_copy else f"the next content of {state}"
    return found


def _whole(method: Method, state: int, new: int) -> bool:
    """Whether a tensor has all of what state keeps."""
    tensors = method.tensors
    return new in tensors and tensors[new].own_bytes == tensors[state].own_bytes
