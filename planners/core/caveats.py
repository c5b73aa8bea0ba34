"""What a graph does not know of its network, or leaves out: said wherever its numbers are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from planners.core.dequantized_whole import dequantized_whole
from planners.core.graph import Graph, Operator
from planners.core.units import format_bytes

LISTED = 6
"""Names in a sentence; the rest is a count."""
FREE = frozenset(
    "add sub mul div pow rsub neg abs exp log sqrt rsqrt reciprocal square sin cos erf maximum "
    "minimum clamp clamp_min clamp_max remainder floor ceil round sign where masked_fill eq ne lt "
    "le gt ge logical_and logical_or logical_xor logical_not bitwise_and bitwise_or bitwise_not "
    "bitwise_xor bitwise_shift bitwise_left_shift bitwise_right_shift tan acos acosh asin asinh "
    "atan atanh cosh sinh rand randn quantize_dynamic "
    "isnan isinf addcmul addcdiv lerp fill to type_as swiglu "
    "rotary_embedding to_blocks from_blocks shape rank "
    "relu relu6 silu gelu hardswish hardsigmoid sigmoid leaky_relu tanh elu selu celu mish "
    "softplus softsign hardtanh hardshrink softshrink tanhshrink logsigmoid log_sigmoid prelu "
    "threshold glu softmax _softmax log_softmax hardmax normalize dropout "
    "native_batch_norm _native_batch_norm_legit_functional "
    "batch_norm layer_norm group_norm instance_norm rms_norm local_response_norm "
    "linalg_vector_norm norm mean sum amax amin max min prod std var logsumexp argmax argmin any "
    "all cat stack pad constant_pad_nd roll flip expand expand_as repeat repeat_interleave tile "
    "view reshape flatten unflatten permute transpose t squeeze unsqueeze slice select split "
    "split_with_sizes chunk unbind tensor_split getitem contiguous clone copy copy_ narrow "
    "slice_scatter select_scatter index index_select index_put index_copy scatter scatter_add "
    "gather embedding take im2col col2im unfold pixel_shuffle pixel_unshuffle channel_shuffle "
    "tril triu constant full zeros ones arange linspace eye one_hot meshgrid new_zeros empty "
    "quantize dequantize quantize_per_tensor dequantize_per_tensor quantize_per_channel "
    "dequantize_per_channel choose_qparams fake_quant_per_channel fake_quantize_per_tensor_affine "
    "fake_quantize_per_channel_affine convert_element_type detach alias lift_fresh_copy cumsum "
    "topk sort argsort nonzero unique "
    "upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_linear1d "
    "upsample_bilinear2d upsample_trilinear3d upsample_bicubic2d".split()
)
"""Kinds without products to accumulate, by ATen's names: they count no MACs, and rightly so."""


@dataclass(frozen=True, slots=True)
class Caveats:
    """What a graph leaves out, in words, and the names of operators whose facts are not known.

    `opaque` operators need all of their operands for any part of their value, and count no MACs;
    `uncounted` ones compute, and their MACs count 0. `kinds` are those of both.
    """

    notes: tuple[str, ...] = ()
    opaque: tuple[str, ...] = ()
    uncounted: tuple[str, ...] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """A sentence each, for people."""
        lines = list(self.notes)
        if self.opaque:
            lines.append(
                f"{_count(self.opaque)} opaque, read all of what they read at once and count no "
                f"MACs: {self._listed(self.opaque)}"
            )
        if self.uncounted:
            lines.append(
                f"{_count(self.uncounted)} counted with 0 MACs: {self._listed(self.uncounted)}"
            )
        return lines

    def _listed(self, names: tuple[str, ...]) -> str:
        text = ", ".join(f"{name} ({self.kinds[name]})" for name in names[:LISTED])
        return text + (f" and {len(names) - LISTED} more" if len(names) > LISTED else "")

    def facts(self) -> dict[str, object]:
        """The same as JSON has it."""
        return {
            "notes": list(self.notes),
            "opaque_operators": list(self.opaque),
            "uncounted_operators": list(self.uncounted),
        }


def caveats(graph: Graph) -> Caveats:
    """What a graph does not know or leaves out, by its source and its operators."""
    source = graph.source
    names, note = source.get("opaque"), source.get("note")
    listed = set(map(str, names)) if isinstance(names, (list, tuple)) else set()
    opaque = tuple(op.name for op in graph.operators if op.name in listed)
    uncounted = tuple(
        op.name for op in graph.operators if op.name not in listed and _is_uncounted(op)
    )
    named = {*opaque, *uncounted}
    kinds = {op.name: op.kind for op in graph.operators if op.name in named}
    notes = [str(note)] if note else []
    if count := source.get("folded_pads"):
        pads, are = ("1 pad", "is") if count == 1 else (f"{count!s:.20} pads", "are")
        notes.append(
            f"{pads} in front of convolutions or pools {are} their padding, not operators of "
            "their own; a runtime that runs them needs more (fold_padding=False, --keep-padding)"
        )
    if graph.state:
        notes.append(_kept(graph))
    if "onnx" in source and (dequantized := dequantized_whole(graph)):
        notes.append(_in_floats(dequantized))
    return Caveats(tuple(notes), opaque, uncounted, kinds)


def _kept(graph: Graph) -> str:
    """What a network keeps from run to run, by name and size."""
    sizes = [f"{name} ({format_bytes(graph.size_bytes(name))})" for name in graph.state]
    more = f" and {len(sizes) - LISTED} more" if len(sizes) > LISTED else ""
    return (
        f"keeps state from run to run: {', '.join(sizes[:LISTED])}{more}; it is loaded where it is "
        "read, and its new value is stored"
    )


def _in_floats(held: Mapping[str, int]) -> str:
    largest = sorted(held, key=lambda name: -held[name])
    named = ", ".join(f"{name:.60} ({format_bytes(held[name])})" for name in largest[:LISTED])
    more = f" and {len(held) - LISTED} more" if len(held) > LISTED else ""
    return (
        f"onnxruntime dequantizes whole, in each run, what is read here as it is stored: {named}"
        f"{more}; those bytes are in no plan"
    )


def _is_uncounted(op: Operator) -> bool:
    """Whether an operator computes, and counts no MACs."""
    pools = op.kind.startswith(("adaptive_", "max_pool", "avg_pool", "lp_pool"))
    return op.macs == 0 and op.kind not in FREE and not pools


def _count(names: tuple[str, ...]) -> str:
    return "1 operator is" if len(names) == 1 else f"{len(names)} operators are"
