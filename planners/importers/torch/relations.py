"""How each ATen call reads, as `planners.core.relations` has it; nothing where it is not known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from math import prod
from typing import Any

from planners.core.relations import Relation, Shape
from planners.importers.torch.ops import ARITHMETIC, QUANTIZING, UNARY

_SAME = (UNARY - {"prelu"}) | ARITHMETIC
_SAME |= frozenset(
    "maximum minimum where eq ne lt le gt ge logical_and logical_or logical_not bitwise_and "
    "bitwise_or bitwise_not remainder floor ceil round sign addcmul to type_as clone contiguous "
    "expand expand_as broadcast_to masked_fill lift_fresh_copy".split()
)
_RESHAPES = frozenset(
    "view reshape flatten unflatten squeeze unsqueeze ravel view_as reshape_as".split()
)
_ALONG = frozenset("softmax _softmax log_softmax mean sum amax amin linalg_vector_norm".split())
_SPLITS = frozenset(
    "split split_with_sizes chunk tensor_split unsafe_chunk unsafe_split hsplit vsplit".split()
)


def relation(
    kind: str, args: Mapping[str, Any], out: Shape, operands: Mapping[str, Shape], reads: int
) -> Relation:
    """The relation of a call whose value has the shape `out`.

    `args` are its arguments by schema name, `operands` the shapes of the tensors among them and
    `reads` how many distinct values those are.
    """
    shapes = list(operands.values())
    if kind in QUANTIZING:
        return ("same",) if len(shapes) == reads and _scaled_in_place(out, shapes[1:]) else ()
    if kind in _SAME or (kind == "pad" and not any(args.get("pad", (1,)))):
        return ("same",)
    if len(shapes) != reads or not shapes:
        return ()
    first = shapes[0]
    rank = len(first)
    if len(shapes) == 1 and not first and not out:
        return ("same",)  # a number from a number: there is no axis, whichever is named
    if kind in _RESHAPES:
        return ("reshape",)
    if kind in ("batch_norm", "prelu") and 2 <= rank == len(out):
        return ("channels",) if all(len(shape) == 1 for shape in shapes[1:]) else ()
    if kind == "cat" and set(map(len, shapes)) == {len(out)}:
        return ("cat", int(args.get("dim", 0)) % len(out))
    if kind == "matmul" and min(map(len, shapes)) >= 2:
        return ("matmul",)
    if kind == "linear" and len(shapes[1]) == 2 and "input" in operands:
        return ("linear",)
    if kind == "layer_norm":
        count = len(args["normalized_shape"])
        return ("along", *range(rank - count, rank))
    if kind in _ALONG:
        return _along(args, first, out)
    if kind in ("slice_scatter", "select_scatter") and len(shapes) == 2:
        return _scattered(kind, args, first)
    if kind == "einsum":
        return _einsum(str(args.get("equation", "")), shapes, out)
    if kind == "scaled_dot_product_attention" and not args.get("enable_gqa"):
        return ("attention",)
    return (
        _moved(kind, args, first)
        or _normalised(kind, args, first, shapes[1:])
        or _spatial(kind, args, out, shapes)
    )


def write(over: bool, views: Iterable[tuple[Relation, Shape]], shape: Shape) -> Relation:
    """The relation of a write into what views, each by its relation and shape, see of a value.

    With `over` what was there is not read. Empty where they do more than cut axes.
    """
    parts = [[0, n, 1, 1] for n in shape]
    left = list(range(len(shape)))  # the axes that a view of it still has
    for (word, *numbers), seen in views:
        if word not in ("slice", "select"):
            return ()
        axis, start = (int(n) for n in numbers[:2])
        part = parts[left[axis]]
        first = part[0] + start * part[2]
        if word == "select":
            part[:] = [first, first + 1, 1, 0]
            del left[axis]
        else:
            step = part[2] * int(numbers[2])
            part[:] = [first, first + (seen[axis] - 1) * step + 1, step, 1]
    return ("write", int(over), *chain.from_iterable(parts))


def _scaled_in_place(out: Shape, scales: list[Shape]) -> bool:
    """Whether scales are one for all elements, or lie beside them as operands of a product do."""
    return all(
        (prod(shape) == 1 and len(shape) <= len(out))
        or (len(shape) == len(out) and all(size in (1, n) for size, n in zip(shape, out)))
        for shape in scales
    )


def item(kind: str, args: Mapping[str, Any], parts: list[Shape], index: int) -> Relation:
    """The relation of one of the values that a split gives to what was split."""
    axis = int(args.get("dim", {"hsplit": 1, "vsplit": 0}.get(kind, 0)))
    if kind == "unbind":
        return ("select", axis % (len(parts[0]) + 1), index)
    if kind not in _SPLITS or (kind == "hsplit" and len(parts[0]) < 2):
        return ()
    axis %= len(parts[0])
    return ("slice", axis, sum(shape[axis] for shape in parts[:index]), 1)


def _along(args: Mapping[str, Any], first: Shape, out: Shape) -> Relation:
    axes = args.get("dim")
    axes = list(range(len(first))) if axes is None else [axes] if isinstance(axes, int) else axes
    along = sorted({axis % len(first) for axis in axes or range(len(first))})
    if len(out) == len(first):
        return ("along", *along)
    return ("reduce", *along) if len(out) + len(along) == len(first) else ()


def _moved(kind: str, args: Mapping[str, Any], shape: Shape) -> Relation:
    """Views that reorder or cut axes."""
    rank = len(shape)
    if kind == "permute":
        return ("permute", *(int(axis) % rank for axis in args["dims"]))
    pair = {"transpose": ("dim0", "dim1"), "swapaxes": ("axis0", "axis1")}
    pair["swapdims"] = pair["transpose"]
    if kind in pair or (kind in ("t", "mT", "numpy_T", "T") and rank == 2):
        a, b = (int(args[name]) % rank for name in pair[kind]) if kind in pair else (0, 1)
        axes = list(range(rank))
        axes[a], axes[b] = axes[b], axes[a]
        return ("permute", *axes)
    if kind == "roll":
        names = ("dims", "shifts")
        axes, shifts = ([n] if isinstance(n := args.get(k) or [], int) else n for k in names)
        moved = [(int(axis) % rank, int(by)) for axis, by in zip(axes, shifts)]
        return ("roll", *chain.from_iterable(moved)) if moved else ()
    if kind not in ("slice", "narrow", "select") or not rank:
        return ()
    axis = int(args.get("dim", 0)) % rank
    n = shape[axis]
    if kind == "select":
        return ("select", axis, int(args["index"]) % n)
    start = args.get("start") or 0
    if not isinstance(start, int):
        return ()
    start = min(max(start + n if start < 0 else start, 0), n)
    return ("slice", axis, start, int(args.get("step", 1)))


def _scattered(kind: str, args: Mapping[str, Any], shape: Shape) -> Relation:
    """A part of a value in its place: as a write into a view of it."""
    axis = int(args.get("dim", 0)) % len(shape)
    view = _moved(kind.removesuffix("_scatter"), args, shape)
    if not view:
        return ()
    stop, step = args.get("end"), int(args.get("step", 1))
    stop = shape[axis] if stop is None else int(stop)
    stop = min(stop + shape[axis] if stop < 0 else stop, shape[axis])
    count = -((int(view[2]) - stop) // step)
    return write(True, [(view, (*shape[:axis], count, *shape[axis + 1 :]))], shape)


def _einsum(equation: str, shapes: list[Shape], out: Shape) -> Relation:
    """Which axis of the value each axis of the operands is; those that are summed are none."""
    given, arrow, result_axes = equation.replace(" ", "").partition("->")
    terms = given.split(",")
    if not arrow or "." in equation or len(result_axes) != len(out):
        return ()
    if [*map(len, terms)] != [*map(len, shapes)]:
        return ()
    return ("einsum", *(result_axes.find(letter) for letter in "".join(terms)))


def _normalised(kind: str, args: Mapping[str, Any], first: Shape, rest: list[Shape]) -> Relation:
    """Norms of groups of channels, by their own mean or by one that is kept."""
    if len(first) < 2 or any(shape != first[1:2] for shape in rest):
        return ()
    if kind == "group_norm":
        return ("groups", int(args["num_groups"]))
    if kind == "instance_norm":
        return ("groups", first[1]) if args.get("use_input_stats", True) else ("channels",)
    return ()


def _spatial(kind: str, args: Mapping[str, Any], out: Shape, shapes: list[Shape]) -> Relation:
    """Calls that look around in space."""
    first, rank = shapes[0], len(shapes[0])
    if kind.startswith("conv_transpose"):
        local = rank == len(out) == int(kind[-2]) + 2 and len(shapes) > 1
        return ("transposed",) if local and len(shapes[1]) == rank else ()
    if kind == "grid_sampler":
        return ("sampled",) if len(shapes) == 2 else ()
    if (kind.startswith("conv") and "transpose" not in kind) or "_pool" in kind:
        axes = int(kind[-2]) if kind[-2].isdigit() else 0
        if kind.startswith("adaptive_avg"):
            return ("adaptive", axes) if axes < rank == len(out) else ()
        slides = kind.startswith(("conv", "max_pool", "avg_pool")) and rank == len(out) == axes + 2
        pools = not kind.startswith("conv")
        return ("window",) if slides and (pools or len(shapes) > 1) else ()
    if kind in ("pad", "constant_pad_nd") and args.get("mode", "constant") == "constant":
        before = [0] * rank
        for at, amount in enumerate(args["pad"][::2]):
            before[rank - 1 - at] = int(amount)
        return ("pad", *before)
    if kind in ("upsample_nearest2d", "upsample_bilinear2d") and _whole_scale(args, first, out):
        if "nearest" in kind:
            return ("nearest",)
        return ("corners",) if args.get("align_corners") else ("bilinear",)
    return ()


def _whole_scale(args: Mapping[str, Any], first: Shape, out: Shape) -> bool:
    """Whether where elements come from follows from sizes alone."""
    scales = args.get("scale_factors") or [args.get("scales_h"), args.get("scales_w")]
    return all(
        scale is None or size * scale == n
        for scale, size, n in zip(scales, first[2:], out[2:], strict=True)
    )
