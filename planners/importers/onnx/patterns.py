"""What exporters write out in several nodes, as the one call that the model made.

A linear layer as a product and a sum; SiLU, hardswish, mish, GELU and layer norm as arithmetic;
and attention, known by the scale that PyTorch's exporters give both of its factors. What lies
between the first and the last call must have no other reader.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from planners.core.graph import Tensor
from planners.importers.passes import Call
from planners.importers.torch.aten_calls import Calls

Made: TypeAlias = "tuple[Call, tuple[str, ...]] | None"
"""The call to put in the place of the last, and the names of those that it takes in."""


def combine(calls: Calls, outputs: tuple[str, ...]) -> tuple[Call, ...]:
    """The calls with each such pattern as one call, which keeps the name of its last.

    Linear in calls. A weight that only linear layers read, transposed, is listed transposed, as
    PyTorch holds it.
    """
    state = _State(calls, set(outputs))
    _linears(state)
    for name in list(calls.calls):
        for pattern in _PATTERNS:
            replacement = pattern(calls.calls[name], state)
            if replacement is not None:
                state.replace(name, *replacement)
    return (*state.turned.values(), *(c for c in calls.calls.values() if c.name not in state.gone))


@dataclass(slots=True)
class _State:
    """The calls, who reads each value, and what has been taken in so far."""

    found: Calls
    outputs: set[str]
    gone: set[str] = field(default_factory=set)
    readers: dict[str, set[str]] = field(default_factory=dict)
    turned: dict[str, Call] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for call in self.found.calls.values():
            for name in call.reads:
                self.readers.setdefault(name, set()).add(call.name)

    def inner(self, name: str, kinds: str, *readers: str) -> Call | None:
        """The call of one of these kinds whose value only `readers` read."""
        call = self.found.calls.get(name)
        if call is None or call.kind not in kinds.split() or name in self.outputs:
            return None
        return call if self.readers[name] == set(readers) else None

    def numbers(self, call: Call) -> tuple[float, ...]:
        """The numbers among the operands of a call."""
        aten = self.found.said.get(call.name)
        return tuple(aten.args.get("numbers", ())) if aten else ()

    def replace(self, name: str, call: Call, taken: tuple[str, ...]) -> None:
        for old in (*taken, name):
            for read in self.found.calls[old].reads:
                self.readers[read].discard(old)
        self.gone |= set(taken)
        self.found.calls[name] = call
        for read in call.reads:
            self.readers.setdefault(read, set()).add(name)


def _weight_of(call: Call, state: _State) -> str:
    """The weight that a call multiplies by from the right, if that is all it is."""
    parameters, aten = state.found.parameters, state.found.said.get(call.name)
    if aten is None or len(call.reads) < 2 or call.reads[0] in parameters:
        return ""
    weight = call.reads[1]
    if call.kind == "linear":
        return weight if aten.args.get("transposed") else ""
    plain = call.kind == "matmul" and call.relation == ("matmul",)
    return weight if plain and len(state.found.parameters.get(weight, _NONE).shape) == 2 else ""


_NONE = Tensor("", ())


def _linears(state: _State) -> None:
    """Products with weights as linear layers.

    A weight is listed transposed where all who read it read it so; else they read it through a
    call that transposes it.
    """
    parameters = state.found.parameters
    for name, tensor in list(parameters.items()):
        if len(tensor.shape) != 2:
            continue
        calls = [state.found.calls[reader] for reader in sorted(state.readers.get(name, ()))]
        products = [call for call in calls if _weight_of(call, state) == name]
        weight, turned = name, replace(tensor, shape=tensor.shape[::-1])
        if products and len(products) == len(calls):
            parameters[name] = turned
        elif products:
            weight = state.found.fresh(f"{name}.T")
            turned = replace(turned, name=weight, kind="activation")
            relation = ("permute", 1, 0)
            state.turned[name] = Call(weight, "t", (name,), turned, view=True, relation=relation)
        for call in products:
            _as_linear(call, weight, state)


def _as_linear(call: Call, weight: str, state: _State) -> None:
    reads = (call.reads[0], weight, *call.reads[2:])
    linear = replace(call, kind="linear", reads=reads, relation=("linear",))
    state.replace(call.name, linear, ())


def _transposed(call: Call, state: _State) -> Made:
    """A product with a weight that a call transposes: a linear layer."""
    if call.kind != "matmul" or call.relation != ("matmul",):
        return None
    before = state.found.calls.get(call.reads[1])
    if before is None or before.relation != ("permute", 1, 0):
        return None
    if before.reads[0] not in state.found.parameters:
        return None
    reads = (call.reads[0], before.reads[0])
    return replace(call, kind="linear", reads=reads, relation=("linear",)), ()


def _bias(call: Call, state: _State) -> Made:
    """A sum with as many weights as the linear layer before has outputs."""
    if call.kind != "add" or len(call.reads) != 2 or call.tensor is None:
        return None
    for data, bias in (call.reads, call.reads[::-1]):
        before = state.inner(data, "linear", call.name)
        row = state.found.parameters.get(bias, _NONE)
        if before is not None and len(before.reads) == 2 and _is_row(row, call.tensor):
            linear = replace(
                before, name=call.name, reads=(*before.reads, bias), tensor=call.tensor
            )
            return linear, (before.name,)
    return None


def _is_row(bias: Tensor, tensor: Tensor) -> bool:
    """Whether a bias has one number for each index of a tensor's last axis."""
    width = tensor.shape[-1:]
    return bias.shape[-1:] == width == (bias.elements,) and len(bias.shape) <= len(tensor.shape)


_GATES = {"sigmoid": "silu", "hardsigmoid": "hardswish"}


def _gated(call: Call, state: _State) -> Made:
    """x times a function of x: SiLU, hardswish, mish."""
    if call.kind != "mul" or len(call.reads) != 2:
        return None
    for data, gate in (call.reads, call.reads[::-1]):
        before = state.inner(gate, "sigmoid hardsigmoid tanh", call.name)
        if before is None:
            continue
        if before.kind in _GATES and before.reads == (data,):
            return _activation(call, _GATES[before.kind], data), (before.name,)
        inner = state.inner(before.reads[0], "softplus", before.name)
        if before.kind == "tanh" and inner is not None and inner.reads == (data,):
            return _activation(call, "mish", data), (before.name, inner.name)
    return None


def _activation(call: Call, kind: str, data: str) -> Call:
    return replace(call, kind=kind, reads=(data,), unary=True, relation=("same",))


def _hardswish(call: Call, state: _State) -> Made:
    """x · clip(x + 3, 0, 6) / 6."""
    factor = {"div": 6.0, "mul": 1 / 6}.get(call.kind)
    if factor is None or len(call.reads) != 1 or not _close(state.numbers(call), factor):
        return None
    product = state.inner(call.reads[0], "mul", call.name)
    if product is None or len(product.reads) != 2:
        return None
    for data, gate in (product.reads, product.reads[::-1]):
        clip = state.inner(gate, "hardtanh", product.name)
        shift = state.inner(clip.reads[0], "add", clip.name) if clip else None
        if clip and shift and shift.reads == (data,) and _close(state.numbers(shift), 3.0):
            return _activation(call, "hardswish", data), (product.name, clip.name, shift.name)
    return None


def _gelu(call: Call, state: _State) -> Made:
    """x / 2 · (1 + erf(x / √2)), the half before or after the product."""
    if call.kind != "mul":
        return None
    halved = len(call.reads) == 1 and _close(state.numbers(call), 0.5)
    product = state.inner(call.reads[0], "mul", call.name) if halved else call
    if product is None or len(product.reads) != 2:
        return None
    for side, gate in (product.reads, product.reads[::-1]):
        one = state.inner(gate, "add", product.name)
        erf = state.inner(one.reads[0], "erf", one.name) if one else None
        root = state.inner(erf.reads[0], "div mul", erf.name) if erf else None
        if one is None or erf is None or root is None or len(root.reads) != 1:
            continue
        wanted = 2**0.5 if root.kind == "div" else 0.5**0.5
        if not _close(state.numbers(root), wanted) or not _close(state.numbers(one), 1.0):
            continue
        data, taken = root.reads[0], [one.name, erf.name, root.name]
        if halved:
            taken.append(product.name)
        half = None if halved else state.inner(side, "mul", product.name)
        if half is not None and half.reads == (data,) and _close(state.numbers(half), 0.5):
            return _activation(call, "gelu", data), (*taken, half.name)
        if halved and side == data:
            return _activation(call, "gelu", data), tuple(taken)
    return None


def _close(numbers: tuple[float, ...], wanted: float) -> bool:
    return len(numbers) == 1 and abs(numbers[0] - wanted) <= 1e-3 * abs(wanted)


def _attention(call: Call, state: _State) -> Made:
    """softmax(q·c · (k·c)ᵀ + mask) · v, where c is a number."""
    if call.kind != "matmul" or len(call.reads) != 2:
        return None
    weights = state.inner(call.reads[0], "softmax", call.name)
    if weights is None:
        return None
    score, taken = weights.reads[0], [weights.name]
    mask: tuple[str, ...] = ()
    masked = state.inner(score, "add", weights.name)
    if masked is not None and len(masked.reads) == 2:
        taken.append(masked.name)
        score, mask = masked.reads[0], masked.reads[1:]
    product = state.inner(score, "matmul", taken[-1])
    if product is None or len(product.reads) != 2:
        return None
    factors = [state.inner(name, "mul", product.name) for name in product.reads]
    data: list[str] = []
    for factor in factors:
        if factor is None or len(factor.reads) != 1 or len(state.numbers(factor)) != 1:
            return None
        data += factor.reads
        taken.append(factor.name)
    reads = tuple(dict.fromkeys((*data, call.reads[1], *mask)))
    kind, macs = "scaled_dot_product_attention", product.macs + call.macs
    return replace(call, kind=kind, reads=reads, macs=macs, relation=()), (*taken, product.name)


def _layer_norm(call: Call, state: _State) -> Made:
    """(x − mean) / √(mean((x − mean)²) + ε)."""
    if call.kind != "div" or len(call.reads) != 2:
        return None
    root = state.inner(call.reads[1], "sqrt", call.name)
    shifted = state.inner(root.reads[0], "add", root.name) if root else None
    variance = state.inner(shifted.reads[0], "mean", shifted.name) if shifted else None
    square = state.inner(variance.reads[0], "pow mul", variance.name) if variance else None
    if root is None or shifted is None or variance is None or square is None:
        return None
    away = state.inner(call.reads[0], "sub", call.name, square.name)
    if away is None or square.reads != (away.name,) or len(away.reads) != 2:
        return None
    mean = state.inner(away.reads[1], "mean", away.name)
    if mean is None or mean.reads != (away.reads[0],) or not mean.relation:
        return None
    parts = (root, shifted, variance, square, away, mean)
    norm = replace(call, kind="layer_norm", reads=mean.reads, relation=mean.relation)
    return norm, tuple(part.name for part in parts)


def _scaled_norm(call: Call, state: _State) -> Made:
    """A layer norm's weight, and then its bias."""
    place = {"mul": 1, "add": 2}.get(call.kind)
    if place is None or len(call.reads) != 2:
        return None
    for data, weight in (call.reads, call.reads[::-1]):
        norm = state.inner(data, "layer_norm", call.name)
        parameter = state.found.parameters.get(weight)
        if norm is None or parameter is None or norm.tensor is None or len(norm.reads) != place:
            continue
        if parameter.shape == norm.tensor.shape[len(norm.tensor.shape) - len(norm.relation) + 1 :]:
            reads = (*norm.reads, weight)
            return replace(norm, name=call.name, tensor=call.tensor, reads=reads), (norm.name,)
    return None


_PATTERNS: tuple[Callable[[Call, _State], Made], ...] = (
    _transposed,
    _bias,
    _hardswish,
    _gelu,
    _gated,
    _attention,
    _layer_norm,
    _scaled_norm,
)
