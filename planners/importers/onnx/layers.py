"""ONNX's layers in ATen's words: what slides, multiplies, normalises or runs through time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

from planners.importers.onnx.fused import Fused
from planners.importers.onnx.node import OnnxNode
from planners.importers.torch.aten_calls import BEFORE, Aten, Said
from planners.importers.torch.ops import lowest


def _window(
    node: OnnxNode, kernel: tuple[int, ...], *, transposed: bool = False
) -> dict[str, object]:
    """What slides; where padding differs between the ends, that in front is what counts.

    A transposed convolution pads what it writes, and `output_shape` says by how much as `auto_pad`
    does; of an odd number the larger half is in front, but for SAME_UPPER.
    """
    axes = len(kernel)
    strides = list(node.get("strides") or [1] * axes)
    dilations = list(node.get("dilations") or [1] * axes)
    pads = list(node.get("pads") or [0] * 2 * axes)[:axes]
    auto = node.get("auto_pad", "NOTSET")
    if transposed and (auto.startswith("SAME") or node.get("output_shape")):
        more = list(node.get("output_padding") or [0] * axes)
        reach = zip(node.shape()[2:], node.out[2:], kernel, strides, dilations, more, strict=True)
        beyond = [max(0, (n - 1) * s + e + d * (k - 1) + 1 - m) for n, m, k, s, d, e in reach]
        pads = [(n + (auto != "SAME_UPPER")) // 2 for n in beyond]
    elif auto.startswith("SAME"):
        sizes = zip(node.shape()[2:], node.out[2:], kernel, strides, dilations, strict=True)
        beyond = [(m - 1) * s + d * (k - 1) + 1 - n for n, m, k, s, d in sizes]
        if "Pool" not in node.proto.op_type:  # whose windows begin inside, in onnxruntime
            beyond = [max(0, n) for n in beyond]
        pads = [int((n + (auto == "SAME_LOWER")) / 2) for n in beyond]
    elif auto == "VALID":
        pads = [0] * axes
    return {
        "stride": strides,
        "padding": pads,
        "dilation": dilations,
        "groups": node.get("group", 1),
    }


def convolution(
    places: Mapping[str, int], kind: str = "conv", zero_at: int | None = None
) -> Callable[[OnnxNode], Said]:
    """`places` are those of input, weight, bias and of what scales them, where it is a tensor.

    The number at `zero_at` stands for zero in the input.
    """

    def say(node: OnnxNode) -> Said:
        data, weight = node.shape(), node.shape(places["weight"])
        kernel, groups = weight[2:], node.get("group", 1)
        reads = weight[0] if kind == "conv_transpose" else weight[1] * groups
        if data[1] != reads or weight[0] % groups:
            raise ValueError(f"a weight of {weight} for {data}")
        operands = {key: node.input(at) for key, at in places.items() if node.input(at)}
        extra = [key for key, name in operands.items() if key[0] == "q" and node.is_number(name)]
        operands = {key: name for key, name in operands.items() if key not in extra}
        zero = 0.0 if zero_at is None else node.known_number(zero_at)
        return [
            Aten(
                f"{kind}{len(kernel)}d",
                operands,
                _window(node, kernel, transposed=kind == "conv_transpose"),
                beyond=zero if kind == "conv" else None,
            )
        ]

    return say


def deformed(node: OnnxNode) -> Said:
    """A convolution whose window lies where other operands say: it reads all of them."""
    data, weight = node.shape(), node.shape(1)
    if data[1] != weight[1] * node.get("group", 1):
        raise ValueError(f"a weight of {weight} for {data}")
    operands = {f"input{i}": name for i, name in enumerate(node.inputs)}
    macs = prod(node.out) * prod(weight[1:])
    return [Aten("deform_conv2d", operands, relation=(), macs=macs)]


def pool(kind: str) -> Callable[[OnnxNode], Said]:
    """A pool with a window."""

    def say(node: OnnxNode) -> Said:
        kernel = tuple(node.get("kernel_shape", ()))
        args = {**_window(node, kernel), "kernel_size": list(kernel)}
        local = len(node.outputs) == 1 and len(node.shape()) == len(kernel) + 2
        relation = ("window",) if local else ()
        operands, beyond = {"self": node.input(0)}, _beyond_pool(node, kind)
        return [Aten(f"{kind}_pool{len(kernel)}d", operands, args, relation, beyond=beyond)]

    return say


def _beyond_pool(node: OnnxNode, kind: str) -> float | None:
    """What a pool takes to be past the edge; nothing where how many elements count may differ."""
    if kind == "max":
        return lowest(node.values.of[node.input(0)].dtype)
    fixed = not node.get("ceil_mode", 0) and node.get("auto_pad", "NOTSET") == "NOTSET"
    counts = kind == "lp" or node.get("count_include_pad", 0)
    return 0.0 if fixed and counts else None


def global_pool(kind: str) -> Callable[[OnnxNode], Said]:
    """A pool over all of space, which the torch importer knows as an adaptive one."""

    def say(node: OnnxNode) -> Said:
        axes = len(node.shape()) - 2
        relation = ("adaptive", axes)
        kinds = f"adaptive_{kind}_pool{axes}d"
        return [Aten(kinds, {"self": node.input(0)}, relation=relation)]

    return say


def gemm(node: OnnxNode) -> Said:
    """A linear layer where the second operand is a weight or transposed; else a product and sum."""
    weight, flags = node.input(1), (node.get("transA", 0), node.get("transB", 0))
    calls, data = [], node.input(0)
    if flags[0]:
        shape = node.shape()[::-1]
        calls.append(Aten("permute", {"self": data}, {"dims": [1, 0]}, shape=shape))
        data = BEFORE
    if node.shape()[0 if flags[0] else 1] != node.shape(1)[1 if flags[1] else 0]:
        raise ValueError(f"{node.shape()} times {node.shape(1)}")
    bias, inside = _gemm_bias(node)
    if flags[1] or weight in node.values.parameters:
        operands = {"input": data, "weight": weight} | ({"bias": bias} if inside else {})
        macs = prod(node.out) * node.shape(1)[1 if flags[1] else 0]
        args = {"transposed": not flags[1]}
        calls.append(Aten("linear", operands, args, macs=macs, shape=node.out))
    else:
        inside = False
        calls.append(Aten("matmul", {"self": data, "other": weight}, shape=node.out))
    if bias and not inside and not node.is_number(bias):
        calls.append(Aten("add", {"self0": BEFORE, "self1": bias}, relation=("same",)))
    return calls


def _gemm_bias(node: OnnxNode) -> tuple[str, bool]:
    """What a Gemm adds, and whether that is a number for each column, as linear layers have it."""
    bias = node.input(2)
    if not bias or node.get("beta", 1.0) == 0:
        return "", False
    return bias, node.shape(2) in ((node.out[-1],), (1, node.out[-1]))


def matmul(node: OnnxNode) -> Said:
    """A product; that with a weight becomes a linear layer later (`onnx_patterns`)."""
    return [Aten("matmul", {"self": node.input(0), "other": node.input(1)})]


def quantized_matmul(first: int, second: int) -> Callable[[OnnxNode], Said]:
    """A product of whole numbers; scales and zero points that are tensors are read too."""

    def say(node: OnnxNode) -> Said:
        names = {"self": node.input(first), "other": node.input(second)}
        rest = [n for n in node.inputs if n not in names.values() and not node.is_number(n)]
        relation = None if not rest else ()
        return [Aten("matmul", names | {f"q{i}": n for i, n in enumerate(rest)}, relation=relation)]

    return say


def einsum(node: OnnxNode) -> Said:
    """Any product of any operands."""
    operands = {f"operands{i}": name for i, name in enumerate(node.inputs)}
    return [Aten("einsum", operands, {"equation": node.get("equation", "")})]


def batch_norm(node: OnnxNode) -> Said:
    """Batch norm at inference; in training it is opaque."""
    if node.get("training_mode", 0):
        return None
    names = ("input", "weight", "bias", "running_mean", "running_var")
    return [Aten("batch_norm", dict(zip(names, node.proto.input)))]


def layer_norm(kind: str) -> Callable[[OnnxNode], Said]:
    """A norm along the axes from one on."""

    def say(node: OnnxNode) -> Said:
        rank = len(node.shape())
        axes = range(node.get("axis", -1) % rank, rank)
        operands = dict(zip(("input", "weight", "bias"), node.inputs))
        return [Aten(kind, operands, relation=("along", *axes))]

    return say


def norm(kind: str) -> Callable[[OnnxNode], Said]:
    """A norm that looks at all of a group of channels, or at all of each."""

    def say(node: OnnxNode) -> Said:
        operands = dict(zip(("input", "weight", "bias"), node.inputs))
        args = {"num_groups": node.get("num_groups", 1)}
        relation = None if len(set(operands.values())) == len(operands) else ()
        return [Aten(kind, operands, args, relation)]

    return say


def recurrent(node: OnnxNode) -> Said:
    """All of it at once; MACs of both products at every step."""
    length, batch = node.shape()[:2]
    products = sum(prod(node.shape(place)) for place in (1, 2))
    operands = {f"input{i}": name for i, name in enumerate(node.inputs)}
    kind = node.proto.op_type.lower()
    return [Aten(kind, operands, relation=(), macs=length * batch * products)]


def fused(node: OnnxNode, operator: Fused) -> Said:
    """An operator that computes several at once: numbers and computed sizes aside, all is read."""
    if node.proto.op_type == "FusedMatMul":
        return _factors(node, operator)
    sizes = node.values.folded | {name for name in node.inputs if node.is_number(name)}
    names = [name for name in node.inputs if name not in sizes] or node.inputs[:1]
    operands = {f"input{i}": name for i, name in enumerate(dict.fromkeys(names))}
    relation = operator.relation if len(node.outputs) == 1 else ()
    return [Aten(operator.kind, operands, relation=relation, macs=operator.macs)]


def _factors(node: OnnxNode, matrices: Fused) -> Said:
    """A product of which one factor is transposed: a view of it, or a linear layer's weight."""
    names = {"self": node.input(0), "other": node.input(1)}
    if node.input(0) == node.input(1):
        return [Aten("matmul", names, relation=(), macs=matrices.macs)]
    if matrices.relation:
        return [Aten("matmul", names, relation=matrices.relation, macs=matrices.macs)]
    ways = {key: _turn(node, place, key) for place, key in (("A", "self"), ("B", "other"))}
    weight = node.input(1) in node.values.parameters and len(node.shape(1)) == 2
    if not ways["self"] and weight:
        operands = {"input": node.input(0), "weight": node.input(1)}
        return [Aten("linear", operands, relation=("linear",), macs=matrices.macs)]
    if all(ways.values()):
        return [Aten("matmul", names, relation=(), macs=matrices.macs)]
    key = next(key for key, axes in ways.items() if axes)
    shape = node.shape(0 if key == "self" else 1)
    view = tuple(shape[axis] for axis in ways[key])
    turned = Aten("permute", {"self": names[key]}, {"dims": ways[key]}, shape=view)
    product = Aten("matmul", names | {key: BEFORE}, relation=("matmul",), macs=matrices.macs)
    return [turned, product]


def _turn(node: OnnxNode, which: str, key: str) -> list[int]:
    """The axes of a factor in the order that it is multiplied in; none where that is its own."""
    rank = len(node.shape(0 if key == "self" else 1))
    axes = list(range(rank))
    if node.get(f"transBatch{which}", 0):
        axes = [*axes[1:-1], 0, rank - 1]
    if node.get(f"trans{which}", 0):
        axes[-2:] = axes[:-3:-1]
    return [] if axes == list(range(rank)) else axes
