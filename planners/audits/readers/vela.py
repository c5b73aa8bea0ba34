"""Vela: the tables that `vela --verbose-allocation` prints, for Arm's Ethos-U.

A table a memory: first and last step (both live), first address and end, size, and what was in use.
Tensors of one row of memory (an operator over its input) are printed with the same steps and
address: they are the same bytes. Both of Vela's compilers are read; what stays in place for good
(weights and other constants) is left out. Addresses are multiples of 16.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from planners.allocation.csv_io import text_of
from planners.audits.foreign import ForeignPlan, ForeignTensor
from planners.audits.shown import Names
from planners.core.errors import BadInput

TOOL = "Vela"
ALIGNMENT = 16
SIGN = "Allocation Peak Tensor Size"
"""What each of its listings has."""
_TITLE = re.compile(r"(?:Tensor )?Allocation(?:,| for) (?:memory |mem_area )?(\S[^,:]{0,60})(.*)")
_PERMANENT = re.compile(r"read-only|Permanent")
_ROW = re.compile(
    r"\s*(\d{1,12})\s*-\s*(\d{1,12}):\s*0x([0-9a-f]{1,15})\s*-\s*0x([0-9a-f]{1,15}):"
    r"\s*(\d{1,18}):\s*(\d{1,18}):(.*)"
)
_SOFTMAX = re.compile(r"(.+)_softmax_[a-z_]{0,20}(\d{1,3})(?:_tens0)?(?:_broadcasted)?")
WHOLE_STEPS = frozenset({"2", "3", "26"})
"""What is as long as the map: its exponentials, those of its sum, and what is left of them."""
FIRST_STEPS = frozenset({"2", "3"})
"""Of a softmax that either compiler has taken apart: all have these, and few networks say so."""
_PEAK = re.compile(re.escape(SIGN) + r":\s*(\d{1,18})\b")


def read_vela(path: str | Path) -> ForeignPlan:
    """A listing as a plan. Raises `BadInput` with the line that is wrong."""
    _, text = text_of(path)
    tensors: list[ForeignTensor] = []
    peaks: dict[str, int] = {}
    left_out, names, memories = 0, Names(), Names()
    memory, columns = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{path}, line {number}"
        if SIGN in line:
            if memory:
                peaks[memory] = _peak(line, where)
            memory, columns = "", 0
        elif line.startswith("Start Time"):
            columns = line.count(":") + 1
        elif title := _TITLE.fullmatch(line.rstrip()):
            memory = "" if _PERMANENT.search(line) else memories.new(title[1].strip())
            left_out += not memory
            columns = 0
        elif columns and memory and line.strip():
            tensors.append(_tensor(line, columns, memory, names, where))
    if memory:
        raise BadInput(f"{path} is cut short: a table has no peak")
    if not peaks:
        raise BadInput(f"{path}: no table of an allocation; ask for vela --verbose-allocation")
    tensors = list(_of_softmax(tensors))
    notes = ("tables of what stays in place for good are left out",) if left_out else ()
    return ForeignPlan(TOOL, str(path), tuple(tensors), own_peak=peaks, notes=notes)


def _of_softmax(tensors: Sequence[ForeignTensor]) -> Iterator[ForeignTensor]:
    """The tensors, with their role where Vela has named them: it takes a softmax apart into
    operators of 32 bits."""
    steps: dict[str, set[str]] = {}
    for tensor in tensors:
        if match := _SOFTMAX.fullmatch(tensor.name):
            steps.setdefault(match[1], set()).add(match[2])
    sizes = {tensor.name: tensor.size_bytes for tensor in tensors}
    for tensor in tensors:
        match = _SOFTMAX.fullmatch(tensor.name)
        if match and steps[match[1]] >= FIRST_STEPS:
            whole = 4 * sizes.get(match[1], -1)
            wide = match[2] in WHOLE_STEPS and tensor.size_bytes == whole
            what = "a map of 32 bits of the softmax" if wide else "within the softmax"
            tensor = replace(tensor, role=f"{what} at {match[1]:.40}")
        yield tensor


def _peak(line: str, where: str) -> int:
    if not (match := _PEAK.search(line)):
        raise BadInput(f"{where}: no peak in {line.strip()!r:.80}")
    return int(match[1])


def _tensor(line: str, columns: int, memory: str, names: Names, where: str) -> ForeignTensor:
    """A row; `names` has the ids of those before."""
    cells = line.split(":", columns - 1)
    if not (match := _ROW.fullmatch(line)) or len(cells) < columns:
        raise BadInput(f"{where}: no row of a table of an allocation: {line.strip()!r:.80}")
    first, last = int(match[1]), int(match[2])
    start, stop, size = int(match[3], 16), int(match[4], 16), int(match[5])
    if stop - start != size or last < first:
        raise BadInput(f"{where}: a row contradicts itself: {line.strip()!r:.80}")
    name = cells[-1].strip()
    id = names.new(name or "tensor")
    alias = f"{first}-{last} at {start}"
    return ForeignTensor(id, first, last + 1, size, start, ALIGNMENT, memory, alias, name)
