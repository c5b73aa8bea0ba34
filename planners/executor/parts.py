"""A part of an operator from the part of its operands that it needs, windows with their padding.

A kernel runs on the whole of what it is given. For some rows of a convolution that is the window
of those rows, with zeros only where the window reaches past the input's edge. What is not known
here, or cut across a group of channels, is left to the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import torch
from torch.nn import functional

from planners.core.access import BINARY, UNARY, detailed, is_local, needs, read_boxes
from planners.core.boxes import within
from planners.core.graph import Graph, Operator, Part
from planners.core.program import Box
from planners.core.relations import axis_groups, boxes
from planners.executor.windows import WINDOWS, PaddedWindow, TransposedWindow, Unknown, by_name
from planners.importers.torch.source_model import SourceModel
from planners.importers.torch.steps import WriteThrough

SKIPS = frozenset({"reshape", "transposed", "write"})
"""Relations whose kernels here do without an operand that is not read."""

# ---- A part of an operator call by call, where its calls state how they read ---------------------
# Each call runs on the boxes of its operands that `planners.core.relations` names, and gives the
# box of its value that is wanted. Constants that are not read in such a way are made whole.


def compute_calls(
    model: SourceModel,
    graph: Graph,
    op: Operator,
    box: Box,
    fetch: Callable[[str, Box], torch.Tensor],
) -> torch.Tensor | None:
    """The box of the operator's only output; None where parts of it are not computed apart."""
    if len(op.outputs) > 1:
        return None
    wanted = read_boxes(graph, op, op.outputs[0], box)
    names = (*op.inputs, *op.parameters)
    values = {name: fetch(name, wanted[name]) for name in names if name in wanted}
    shapes = {name: graph.tensors[name].shape for name in names}
    shapes |= {part.name: part.shape for part in op.parts}
    constants = _run_whole(op, wanted)
    values |= model.evaluate(constants, {n: v for n, v in values.items() if n not in op.inputs})
    boxes = wanted | {name: tuple((0, n) for n in shapes[name]) for name in constants}
    try:
        for part in op.parts:
            if part.name in wanted and part.name not in constants:
                call = _BoxCall(model, op, part, [shapes[n] for n in part.reads], wanted[part.name])
                values[part.name] = call.run(
                    [
                        None if read is None else _cut(values[name], boxes[name], read)
                        for name, read in zip(part.reads, call.reads, strict=True)
                    ]
                )
    except (Unknown, KeyError):
        return None
    return values[op.outputs[0]]


def _run_whole(op: Operator, wanted: Mapping[str, Box]) -> list[str]:
    """Wanted calls without a relation that only such calls and parameters lead to.

    Some of them write into others, so they run together.
    """
    names: dict[str, None] = {}
    for part in op.parts:
        readable = all(name in names or name in op.parameters for name in part.reads)
        if part.name in wanted and readable and not part.relation:
            names[part.name] = None
    return list(names)


def _cut(value: torch.Tensor, held: Box, box: Box) -> torch.Tensor:
    return value[tuple(slice(a - c, b - c) for (a, b), (c, _) in zip(box, held, strict=True))]


def _sizes(box: Box) -> tuple[int, ...]:
    return tuple(stop - start for start, stop in box)


class _BoxCall:
    """One call for one box of its value. `reads` are the boxes of its operands."""

    def __init__(
        self,
        model: SourceModel,
        op: Operator,
        part: Part,
        operands: Sequence[tuple[int, ...]],
        box: Box,
    ) -> None:
        self.model, self.op, self.part, self.operands, self.box = model, op, part, operands, box
        self.reads = boxes(part.relation, part.shape, operands, box, op.slide)

    def run(self, values: list[torch.Tensor | None]) -> torch.Tensor:
        """The value. Raises `Unknown` where it cannot be made apart."""
        word, *numbers = self.part.relation or ("",)
        seen = [value for value in values if value is not None]
        if word == "cat":
            return torch.cat(seen, int(numbers[0]))
        if not seen or (word not in SKIPS and len(seen) < len(values)):
            raise Unknown
        result = self._view(str(word), [int(n) for n in numbers], seen[0])
        if result is None:
            # What is not read stands empty.
            given = [seen[0].new_empty(0) if value is None else value for value in values]
            result = self._kernel(str(word), dict(zip(self.part.reads, given, strict=True)))
        if tuple(result.shape) != _sizes(self.box):
            raise Unknown
        return result

    def _view(self, word: str, numbers: list[int], value: torch.Tensor) -> torch.Tensor | None:
        """Views move elements; None for other calls."""
        if word == "permute":
            return value.permute(numbers)
        if word == "slice":
            return value[(slice(None),) * numbers[0] + (slice(None, None, numbers[2]),)]
        if word == "select":
            return value.select(numbers[0], 0)
        if word == "reshape":
            return self._reshaped(value)
        if word == "roll":
            return self._rolled(numbers, value)
        if word == "same" and self.part.kind.startswith(("expand", "broadcast")):
            return value.expand(_sizes(self.box))
        return None

    def _rolled(self, numbers: Sequence[int], value: torch.Tensor) -> torch.Tensor:
        """Along each axis, the wanted elements of those that were read, which may be all."""
        (read,) = self.reads
        assert read is not None
        shifts: dict[int, int] = {}
        for axis, shift in zip(numbers[::2], numbers[1::2], strict=True):
            shifts[axis] = shifts.get(axis, 0) + shift
        for axis, shift in shifts.items():
            at = (torch.arange(*self.box[axis]) - shift) % self.part.shape[axis]
            value = value.index_select(axis, at - read[axis][0])
        return value

    def _reshaped(self, value: torch.Tensor) -> torch.Tensor:
        """What is wanted of what was read: of each group of axes, some elements in order."""
        (read, *_), before, after = self.reads, self.operands[0], self.part.shape
        assert read is not None
        groups = axis_groups(before, after)
        flat = value.reshape([_elements(read[a:b]) for (a, b), _ in groups])
        for axis, ((a, b), (c, d)) in enumerate(groups):
            if _elements(read[a:b]) != _elements(self.box[c:d]):
                given, wanted = _places(before[a:b], read[a:b]), _places(after[c:d], self.box[c:d])
                flat = flat.index_select(axis, torch.searchsorted(given, wanted))
        return flat.reshape(_sizes(self.box))

    def _kernel(self, word: str, given: Mapping[str, torch.Tensor]) -> torch.Tensor:
        if word == "adaptive":
            axes = int(self.part.relation[1])
            if self.box[-axes:] != tuple((0, n) for n in self.part.shape[-axes:]):
                raise Unknown
        special = {"window": self._window, "pad": self._pad, "transposed": self._transposed}
        special |= {"groups": self._grouped, "attention": self._attended}
        special |= dict.fromkeys(("nearest", "bilinear", "corners"), self._resize)

        def run(name: str, target: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
            if word == "write":
                return self._written(target, args, kwargs)
            if word in special:
                return special[word](by_name(target, args, kwargs))
            return target(*args, **kwargs)

        value = self.model.evaluate([self.part.name], given, run)[self.part.name]
        # What is read whole comes out whole.
        whole = {"": range(len(self.box)), "along": map(int, self.part.relation[1:])}.get(word, ())
        cut = [slice(None)] * len(self.box)
        for axis in whole:
            cut[axis] = slice(*self.box[axis])
        return value[tuple(cut)]

    def _window(self, given: Mapping[str, Any]) -> torch.Tensor:
        data = self.reads[0]
        assert data is not None
        window = PaddedWindow(self.op, self.part.shape[1], self.operands[0][2:], self.box, data)
        return window.run(self.part.kind, given)

    def _transposed(self, given: Mapping[str, Any]) -> torch.Tensor:
        data, op = self.reads[0], self.op
        result: torch.Tensor
        if data is None:  # Nothing is seen from here.
            result = given["weight"].new_zeros(_sizes(self.box))
        else:
            result = TransposedWindow(op, self.part.shape[1], self.box, data).run(given)
        bias = given.get("bias")
        return result if bias is None else result + bias.reshape(-1, *[1] * len(op.kernel))

    def _grouped(self, given: Mapping[str, Any]) -> torch.Tensor:
        """The norm of the groups that were read, of which what is wanted is cut."""
        read, count = self.reads[0], int(self.part.relation[1])
        assert read is not None
        groups = (read[1][1] - read[1][0]) * count // self.operands[0][1]
        normed = functional.group_norm(
            given["input"], groups, given["weight"], given["bias"], given["eps"]
        )
        return _cut(normed, (self.box[0], *read[1:]), self.box)

    def _attended(self, given: Mapping[str, Any]) -> torch.Tensor:
        """Attention from some rows: which keys they see goes by their places."""
        mask = given["attn_mask"]
        if given["is_causal"]:
            rows, keys = torch.arange(*self.box[-2]), torch.arange(given["key"].shape[-2])
            mask = keys <= rows[:, None]
        queries, keys, values = (given[name] for name in ("query", "key", "value"))
        return functional.scaled_dot_product_attention(
            queries, keys, values, mask, scale=given["scale"]
        )

    def _written(self, target: Any, args: list[Any], kwargs: dict[str, Any]) -> torch.Tensor:
        """What is there, and over it what is written into this box, where there is some."""
        numbers = [int(n) for n in self.part.relation[2:]]
        axes = zip(self.box, *(numbers[i::4] for i in range(4)), strict=True)
        places: list[int | slice] = []
        for (a, b), start, stop, step, kept in axes:
            first = start + max(0, -((start - a) // step)) * step
            if first >= min(b, stop):
                places = []
                break
            places.append(slice(first - a, min(b, stop) - a, step) if kept else start - a)
        read, (before, *others) = self.reads[0], args
        result: torch.Tensor = (others[0] if read is None else before).new_zeros(_sizes(self.box))
        if read is not None:
            result[within(read, self.box)] = before
        if places or not self.box:
            if isinstance(target, WriteThrough):
                target.target(result[tuple(places)], *others, **kwargs)
            else:  # Scattered.
                result[tuple(places)] = others[0]
        return result

    def _pad(self, given: Mapping[str, Any]) -> torch.Tensor:
        (read,), (_, *before) = self.reads, self.part.relation
        assert read is not None
        amounts: list[int] = []
        for (a, b), (start, stop), n in zip(self.box, read, before, strict=True):
            amounts[:0] = [start + int(n) - a, b - stop - int(n)]
        value = given["value"] or 0
        return functional.pad(given["self"], amounts, value=float(value))

    def _resize(self, given: Mapping[str, Any]) -> torch.Tensor:
        """Along each axis a matrix, of which the wanted rows and the columns read are used."""
        (read,), (word, *_) = self.reads, self.part.relation
        assert read is not None
        value: torch.Tensor = given.get("self", given.get("input"))
        for axis, (m, n) in enumerate(zip(self.operands[0][2:], self.part.shape[2:]), start=2):
            rows = _resizing(str(word), m, n)[slice(*self.box[axis]), slice(*read[axis])]
            if word == "nearest":
                value = value.index_select(axis, rows.argmax(1))
            else:
                value = torch.tensordot(value, rows, ([axis], [1])).movedim(-1, axis)
        return value


def _resizing(word: str, m: int, n: int) -> torch.Tensor:
    """The n×m matrix that resizes m elements to n."""
    each = torch.eye(m).reshape(1, m, m, 1)
    if word == "nearest":
        resized = functional.interpolate(each, size=(n, 1), mode="nearest")
    else:
        corners = word == "corners"
        resized = functional.interpolate(each, size=(n, 1), mode="bilinear", align_corners=corners)
    return resized[0, :, :, 0].T


def _elements(box: Box) -> int:
    return torch.Size(_sizes(box)).numel()


def _places(shape: tuple[int, ...], box: Box) -> torch.Tensor:
    """Where the elements of a box lie among those of a shape, ascending."""
    every = torch.arange(torch.Size(shape).numel()).reshape(shape)
    return every[tuple(slice(*axis) for axis in box)].reshape(-1).contiguous()


# --------------------------------------------------------------------------------------------------

Fetch: TypeAlias = Callable[[str, Box], torch.Tensor]


def compute_part(
    model: SourceModel, graph: Graph, op: Operator, box: Box, fetch: Fetch
) -> torch.Tensor | None:
    """The box of an operator's output, or None where parts of it are not computed apart.

    `fetch` gives the elements of a box of an operand.
    """
    if detailed(op):
        return compute_calls(model, graph, op, box, fetch)
    if not _known(graph, op):
        return None
    needed = dict(needs(graph, op, op.outputs[0], box))
    if any(start == stop for axes in needed.values() for start, stop in axes):
        return None
    values = {name: fetch(name, part) for name, part in needed.items()}
    kinds = {part.name: part.kind for part in op.parts}

    def run(name: str, target: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if kinds[name] not in WINDOWS:
            return target(*args, **kwargs)
        given = by_name(target, args, kwargs)
        return _window(graph, op, box, needed[op.inputs[0]]).run(kinds[name], given)

    try:
        return model.evaluate(list(kinds), values, run)[op.outputs[0]]
    except Unknown:
        return None


def add_part(
    model: SourceModel, graph: Graph, op: Operator, box: Box, sums: tuple[int, int], fetch: Fetch
) -> torch.Tensor:
    """The products of these channels in a box of the output: a part of `access.reduced` sums."""
    needed = dict(needs(graph, op, op.outputs[0], box, sums, last=False))
    values = {name: fetch(name, part) for name, part in needed.items()}

    def run(name: str, target: Any, args: list[Any], kwargs: dict[str, Any]) -> torch.Tensor:
        given = {**by_name(target, args, kwargs), "bias": None}
        if op.kind == "linear":
            return functional.linear(given["input"], given["weight"])
        return _window(graph, op, box, needed[op.inputs[0]]).run(op.kind, given)

    first = op.parts[0].name
    return model.evaluate([first], values, run)[first]


def finish_sum(
    model: SourceModel, graph: Graph, op: Operator, box: Box, total: torch.Tensor, fetch: Fetch
) -> torch.Tensor:
    """A box of the output from the sum of all parts: bias, norm and activation."""
    first, data = op.parts[0].name, op.inputs[0]
    # Nothing of the data or the weight is read again.
    values = {data: torch.empty(0)}
    for name, part in needs(graph, op, op.outputs[0], box, (0, 0)):
        empty = any(start == stop for start, stop in part)
        values[name] = torch.empty(0) if empty else fetch(name, part)

    def run(name: str, target: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if name != first:
            return target(*args, **kwargs)
        bias = by_name(target, args, kwargs).get("bias")
        if bias is None:
            return total
        return total + bias.reshape(-1, *[1] * (0 if op.kind == "linear" else len(op.kernel)))

    return model.evaluate([part.name for part in op.parts], values, run)[op.outputs[0]]


def _known(graph: Graph, op: Operator) -> bool:
    if len(op.outputs) > 1 or not op.parts:
        return False
    kinds = {part.kind for part in op.parts}
    if kinds & BINARY and op.parameters and not kinds <= UNARY | BINARY:
        return False  # A parameter may be the weight, or broadcast to the output.
    return is_local(graph, op, graph.tensors[op.outputs[0]])


def _window(graph: Graph, op: Operator, box: Box, data: Box) -> PaddedWindow:
    sizes = graph.tensors[op.inputs[0]].shape[2:]
    return PaddedWindow(op, graph.tensors[op.outputs[0]].shape[1], sizes, box, data)
