"""What each ATen call is: a view, an identity, an activation; and its window."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from math import inf
from types import SimpleNamespace
from typing import Any

import torch

from planners.core.access import CONVOLUTIONS, POOLS
from planners.core.graph import Graph
from planners.importers.passes import SlidingWindow


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


VIEWS = _words(
    "view reshape flatten unflatten permute transpose t numpy_T mT T expand expand_as slice "
    "select unsqueeze squeeze split split_with_sizes chunk tensor_split unbind narrow movedim "
    "swapaxes contiguous clone view_as reshape_as diagonal unfold broadcast_to ravel as_strided "
    "unsafe_chunk unsafe_split hsplit vsplit moveaxis swapdims"
)
"""Calls whose value holds elements of their first operand and nothing else (copies included)."""

MAY_COPY = _words("reshape reshape_as contiguous flatten ravel")
"""Views that copy where the layout asks for it."""

COPIES = _words("clone pad")
"""Calls among `VIEWS` and pads by nothing whose value has a memory of its own."""

RESHAPES_IN_PLACE = _words("squeeze_ unsqueeze_ transpose_ t_ swapaxes_ swapdims_")
"""Calls that change how their operand is looked at and write nothing."""

_BOOLEAN = _words("eq ne lt le gt ge logical_and logical_or logical_xor logical_not isfinite")
_PROMOTING = _words(
    "add sub mul div pow remainder fmod floor_divide addcmul addcdiv lerp atan2 hypot copysign "
    "bitwise_and bitwise_or bitwise_xor"
)
_EXAMPLES = {
    "aten.expand_as.default": "expand",
    "aten.view_as.default": "view",
    "aten.reshape_as.default": "reshape",
}
_OPERATORS = {
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
}

IDENTITIES = _words("detach alias lift_fresh dropout feature_dropout alpha_dropout")
"""Calls whose value is their first operand itself, as far as inference goes."""

UNARY = _words(
    "relu relu6 silu gelu hardswish hardsigmoid sigmoid leaky_relu tanh elu selu celu mish "
    "softplus softsign hardtanh hardshrink softshrink tanhshrink logsigmoid log_sigmoid prelu "
    "clamp clamp_min clamp_max threshold abs neg exp log sqrt rsqrt reciprocal square sin cos erf"
)
"""Element-wise functions of one operand: what `fused` folds."""

ARITHMETIC = _words("add sub mul div pow rsub")
"""Element-wise functions of one operand where the other is a number."""

QUANTIZING = _words("quantize dequantize")
"""Element-wise where one scale, a number, serves the whole tensor."""

_QUANTIZERS = _words("quantized_decomposed torchao spillway_torchao")

_RANDOM = _words(
    "rand rand_like randn randn_like randint randint_like randperm normal normal_ bernoulli "
    "bernoulli_ multinomial poisson uniform uniform_ exponential_ log_normal_ geometric_ cauchy_ "
    "random_ binomial normal_functional"
)
_DROPS = _words("dropout feature_dropout alpha_dropout feature_alpha_dropout native_dropout")

_LIBRARIES = _words("aten prims export quantized_decomposed torchvision")
"""Those whose operators are known by their names."""

Shape = tuple[int, ...]


def is_opaque(kind: str) -> bool:
    """Whether nothing is known of a kind of call but its operands."""
    return "." in kind


def opaque_named(graph: Graph, kinds: Collection[str] = ()) -> Graph:
    """The graph, its source with the names of the operators that nothing is known of: of these
    kinds, and those of libraries that are not known."""
    names = [
        op.name
        for op in graph.operators
        if any(kind in kinds or is_opaque(kind) for kind in (op.kind, *(p.kind for p in op.parts)))
    ]
    return replace(graph, source={**graph.source, "opaque": names}) if names else graph


def returns_anew(node: Any) -> bool:
    """Whether a call that writes returns something else than what it wrote."""
    return any(value.alias_info is None for value in node.target._schema.returns)


def window(kind: str, args: Mapping[str, Any], shapes: Mapping[str, Shape]) -> SlidingWindow:
    """The window of a convolution or a pool; empty for adaptive pools and all else."""
    if kind.startswith("conv") and "weight" in shapes:
        kernel = shapes["weight"][2:]
        axes = len(kernel)
        dilation = _each(args.get("dilation", 1), axes)
        padding = args.get("padding", 0)
        if isinstance(padding, str):
            spans = [d * (k - 1) // 2 for d, k in zip(dilation, kernel)]
            padding = spans if padding == "same" else 0
        stride = _each(args.get("stride", 1), axes)
        groups = int(args.get("groups", 1))
        return SlidingWindow(kernel, stride, _each(padding, axes), dilation, groups)
    if "pool" in kind and "kernel_size" in args:
        axes = int(kind.split("pool")[1][0])
        kernel = _each(args["kernel_size"], axes)
        stride = _each(args.get("stride") or kernel, axes)
        dilation = _each(args.get("dilation", 1), axes)
        return SlidingWindow(kernel, stride, _each(args.get("padding", 0), axes), dilation)
    return SlidingWindow()


def beyond(kind: str, args: Mapping[str, Any]) -> float | None:
    """What a pad writes around its operand, or a window takes to be past the edge of its own.

    None for all other calls, and for averages over as many elements as happen to be there.
    """
    if kind in ("pad", "constant_pad_nd"):
        value = args.get("value") or 0
        constant = args.get("mode", "constant") == "constant" and isinstance(value, (int, float))
        return float(value) if constant else None
    if kind in CONVOLUTIONS:
        return 0.0
    if kind not in POOLS:
        return None
    if kind.startswith("max"):
        return -inf
    return 0.0 if args.get("count_include_pad", True) and not args.get("ceil_mode") else None


def lowest(dtype: str) -> float | None:
    """What is never greater than an element of a type, by torch's name; None for other types."""
    if dtype.startswith(("float", "bfloat")):
        return -inf
    kind = dtype.startswith(("int", "uint")) and getattr(torch, dtype, None)
    return float(torch.iinfo(kind).min) if kind else None


def _each(value: Any, axes: int) -> tuple[int, ...]:
    numbers = [value] * axes if isinstance(value, int) else list(value)
    return tuple(int(n) for n in (numbers * axes if len(numbers) == 1 else numbers))


def is_identity(kind: str, args: Mapping[str, Any], out: Shape, same_dtype: bool) -> bool:
    """Whether a call gives back its first operand at inference, so that it may vanish."""
    if kind in IDENTITIES:
        return "dropout" not in kind or not args.get("train") or not args.get("p")
    return kind in ("to", "type_as") and same_dtype and not args.get("copy")


def is_random(kind: str, args: Mapping[str, Any]) -> bool:
    """Whether a call gives other values each time."""
    if kind.removesuffix("_") in _DROPS:
        return bool(args.get("train") and args.get("p"))
    return kind in _RANDOM or bool(kind.startswith("rrelu") and args.get("training"))


def written(node: Any) -> list[Any]:
    """The arguments that a call writes into, those that its schema does not say included."""
    arguments = node.target._schema.arguments
    named = {a.name: v for a, v in zip(arguments, node.args)} | dict(node.kwargs)
    wrote = [a.name for a in arguments if a.alias_info is not None and a.alias_info.is_write]
    kind = node.target._schema.name.split("::")[-1]
    if kind == "instance_norm" and named["use_input_stats"]:
        wrote += ["running_mean", "running_var"]
    return [named[name] for name in wrote if named.get(name) is not None]


def is_view(kind: str, args: Mapping[str, Any]) -> bool:
    """Whether a call's value is an alias of its first operand; a pad by nothing is one."""
    return kind in VIEWS or (kind == "pad" and not any(args.get("pad", (1,))))


def changed(node: Any, target: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """The same call of a program with another function or other arguments."""
    read: list[torch.fx.Node] = []
    torch.fx.node.map_arg((args, kwargs), read.append)
    return SimpleNamespace(
        name=node.name,
        target=target,
        args=args,
        kwargs=kwargs,
        meta=node.meta,
        all_input_nodes=list(dict.fromkeys(read)),
    )


def without_examples(node: Any) -> Any:
    """A call that takes its shape or type from another tensor, with the shape or type itself."""
    aten, value = torch.ops.aten, node.meta.get("val")
    name = str(node.target)
    plain = len(node.args) == 2 and not node.kwargs
    if plain and name in ("aten.type_as.default", "aten.to.other"):
        return changed(node, aten.to.dtype, (node.args[0], value.dtype), {})
    if name in _EXAMPLES:
        target = getattr(aten, _EXAMPLES[name]).default
        return changed(node, target, (node.args[0], list(value.shape)), {})
    return node


def is_alias(target: Any, kind: str, args: Any, kwargs: Any) -> bool:
    """Whether a call's value shares the memory of its first operand."""
    kind = kind.removesuffix("_")
    if kind not in VIEWS or kind in COPIES:
        return False
    if kind not in MAY_COPY:
        return True
    args, kwargs = torch.fx.node.map_arg((args, kwargs), _without_data)
    result, first = target(*args, **kwargs), args[0]
    return bool(result.untyped_storage()._cdata == first.untyped_storage()._cdata)


def _without_data(node: torch.fx.Node) -> Any:
    value = node.meta["val"]
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")


def looking(target: Any) -> Any:
    """The view that a call of `RESHAPES_IN_PLACE` takes of its operand; any other call itself."""
    name = target._schema.name.split("::")[-1]
    if name not in RESHAPES_IN_PLACE:
        return target
    packet = getattr(torch.ops.aten, name.removesuffix("_"))
    overload = target._overloadname
    return packet.int if name == "transpose_" else getattr(packet, overload)


def promotes(kind: str, types: int) -> bool:
    """Whether a call of operands of that many types may give another type than it would write."""
    return kind in _BOOLEAN or (kind in _PROMOTING and types > 1)


def kind_of(target: Any) -> str:
    """The name of a call; those of Python's operators by the function that they stand for.

    An operator of a library that nothing is known of has that library's name in front, whatever it
    is called: `mylib.relu`. Those that write or read whole numbers are two kinds, whichever scales
    they take, and those that look for such scales are a third.
    """
    library, name = str(target._schema.name).split("::")
    does = name.lstrip("_").split("_")[0]
    if library in _QUANTIZERS and does in QUANTIZING:
        return does
    if library in _QUANTIZERS and does == "choose":
        return "choose_qparams"
    if library not in _LIBRARIES:
        return f"{library}.{name}"
    if not name.startswith("__"):
        return name
    plain = name.strip("_")
    writes = plain.startswith("i") and plain[1:] in _OPERATORS
    return _OPERATORS.get(plain.removeprefix("i") if writes else plain, name) + "_" * writes


def out_of_place(kind: str) -> str:
    """The kind of a call that writes its first operand, without the write."""
    return kind.removesuffix("_")


def is_unary(kind: str, tensor_operands: int) -> bool:
    """Whether a call is element-wise with one tensor operand (`prelu` has its slope besides)."""
    if kind in UNARY | ARITHMETIC | QUANTIZING:
        return tensor_operands == 1 or kind == "prelu"
    return False
