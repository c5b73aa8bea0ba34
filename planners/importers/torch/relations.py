"""How each ATen call reads, as `planners.core.relations` has it; nothing where it is not known."""

from __future__ import annotations

from collections.abc import Mapping
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
        return ("same",) if reads == 1 else ()
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
    return _moved(kind, args, first) or _spatial(kind, args, out, shapes)


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
    if len(out) != len(first):
        return ()
    axes = args.get("dim")
    axes = list(range(len(first))) if axes is None else [axes] if isinstance(axes, int) else axes
    return ("along", *sorted(axis % len(first) for axis in axes or range(len(first))))


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


def _spatial(kind: str, args: Mapping[str, Any], out: Shape, shapes: list[Shape]) -> Relation:
    """Calls that look around in space."""
    first, rank = shapes[0], len(shapes[0])
    if (kind.startswith("conv") and "transpose" not in kind) or "_pool" in kind:
        axes = int(kind[-2]) if kind[-2].isdigit() else 0
        if kind.startswith("adaptive_avg"):
            return ("adaptive", axes) if axes < rank == len(out) else ()
        known = kind.startswith(("conv", "max_pool", "avg_pool")) and rank == len(out) == axes + 2
        pools = not kind.startswith("conv")
        return ("window",) if known and (pools or len(shapes) > 1) else ()
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
