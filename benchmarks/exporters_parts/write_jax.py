"""Files of jax2onnx: functions of JAX and modules of Flax."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import onnx
from flax import nnx
from jax2onnx import to_onnx
from making import Write, write_all
from onnx_oracle import oracle

Made = tuple[Callable[..., Any], list[tuple[Any, ...]]]


def _keys(draw: Random) -> nnx.Rngs:
    return nnx.Rngs(draw.randint(0, 999))


def conv(draw: Random) -> Made:
    keys, c = _keys(draw), draw.randint(1, 3)
    first = nnx.Conv(c, 4, (3, draw.randint(1, 4)), strides=draw.randint(1, 2), rngs=keys)
    deep = nnx.Conv(
        4, 8, (3, 3), feature_group_count=4, padding=draw.choice(("SAME", "VALID")), rngs=keys
    )
    norm = nnx.BatchNorm(8, use_running_average=True, rngs=keys)
    return lambda x: jax.nn.relu6(norm(deep(jax.nn.gelu(first(x))))), [
        (1, draw.randint(7, 11), 9, c)
    ]


def transposed(draw: Random) -> Made:
    step = draw.randint(1, 3)
    up = nnx.ConvTranspose(
        3, 4, (3, 2), strides=(step, step), padding=draw.choice(("SAME", "VALID")), rngs=_keys(draw)
    )
    return up, [(1, draw.randint(4, 6), 5, 3)]


def dilated(draw: Random) -> Made:
    layer = nnx.Conv(2, 3, (3, 3), kernel_dilation=(2, draw.randint(1, 2)), rngs=_keys(draw))
    return layer, [(2, draw.randint(7, 9), 8, 2)]


def line(draw: Random) -> Made:
    layer = nnx.Conv(
        3, 5, (draw.randint(2, 4),), padding=draw.choice(("CAUSAL", "SAME")), rngs=_keys(draw)
    )
    return layer, [(2, draw.randint(7, 12), 3)]


def dense(draw: Random) -> Made:
    keys, a = _keys(draw), draw.randint(3, 8)
    one, two = nnx.Linear(a, 6, rngs=keys), nnx.LinearGeneral((6,), (2, 3), rngs=keys)
    return lambda x: jax.nn.softmax(two(jnp.tanh(one(x)))), [("B", a)]


def attention(draw: Random) -> Made:
    heads, keys = draw.randint(1, 2), _keys(draw)
    many = nnx.MultiHeadAttention(heads, 4 * heads, rngs=keys, decode=False)
    norm = nnx.LayerNorm(4 * heads, rngs=keys)
    return lambda x: norm(x + many(x)), [(2, draw.randint(3, 6), 4 * heads)]


def own_attention(draw: Random) -> Made:
    n, h = draw.randint(3, 6), draw.randint(1, 3)
    return jax.nn.dot_product_attention, [(2, n, h, 4), (2, 5, h, 4), (2, 5, h, 4)]


def embedding(draw: Random) -> Made:
    table, norm = (
        nnx.Embed(draw.randint(9, 20), 4, rngs=_keys(draw)),
        nnx.RMSNorm(4, rngs=_keys(draw)),
    )
    return lambda i: table.attend(norm(table(i.astype(jnp.int32)))), [(2, 5)]


def recurrent(draw: Random) -> Made:
    cell = nnx.GRUCell(3, draw.randint(2, 4), rngs=_keys(draw))
    start = cell.initialize_carry((2, 3), _keys(draw))
    return lambda x: cell(start, x)[1], [(2, 3)]


def scanned(draw: Random) -> Made:
    weight = jnp.ones((3, 3))

    def run(x: Any) -> Any:
        return jax.lax.scan(lambda h, v: (jnp.tanh(h @ weight + v),) * 2, x[0], x)[1]

    return run, [(draw.randint(3, 5), 2, 3)]


def pieces(draw: Random) -> Made:
    def run(x: Any) -> Any:
        a, b = jnp.split(x, 2, axis=1)
        c = jnp.concatenate((b, a), 1)[:, ::2]
        d = jnp.pad(c, ((0, 0), (1, 0), (0, 2), (0, 0)))
        return (
            jnp.transpose(d, (0, 3, 1, 2)),
            jnp.roll(x, 1, 2),
            jnp.flip(c, 2),
            jnp.take(x, jnp.array([0, 2]), axis=2),
        )

    return run, [(1, 2 * draw.randint(2, 4), 5, 3)]


def products(draw: Random) -> Made:
    a, b = draw.randint(2, 5), draw.randint(2, 5)

    def run(x: Any, y: Any) -> Any:
        return (
            x @ y,
            jnp.einsum("bij,bjk->bki", x, y),
            jnp.einsum("bij,bij->b", x, x),
            jnp.tensordot(x, y[0], 1),
            x[0] @ y[0, :, 0],
        )

    return run, [(2, 3, a), (2, a, b)]


def maths(draw: Random) -> Made:
    def run(x: Any) -> Any:
        top, at = jax.lax.top_k(x, 2)
        return (
            top,
            at,
            jnp.cumsum(x, axis=1),
            jnp.argmax(x, -1),
            jnp.where(x > 0, x, jnp.exp(x)),
            jnp.var(x, -1),
            jnp.sort(x, -1),
            jnp.linalg.norm(x, axis=-1),
        )

    return run, [(3, draw.randint(4, 7))]


def pools(draw: Random) -> Made:
    step = draw.randint(1, 2)

    def run(x: Any) -> Any:
        return (
            nnx.avg_pool(x, window_shape=(2, 2), strides=(step, step), padding="SAME"),
            nnx.max_pool(x, window_shape=(3, 2), strides=(2, 2)),
            x.mean((1, 2)),
        )

    return run, [(1, draw.randint(7, 9), 8, 3)]


def resized(draw: Random) -> Made:
    out = (1, draw.randint(5, 12), 9, 3)
    return lambda x: (
        jax.image.resize(x, out, "bilinear", antialias=False),
        jax.image.resize(x, out, "nearest", antialias=False),
    ), [(1, 6, 6, 3)]


def half(draw: Random) -> Made:
    layer = nnx.Linear(
        5, draw.randint(2, 6), dtype=jnp.float16, param_dtype=jnp.float16, rngs=_keys(draw)
    )
    return lambda x: layer(x.astype(jnp.float16)), [(2, 5)]


def condition(draw: Random) -> Made:
    return lambda x: jax.lax.cond(x.sum() > 0, lambda v: v * 2, lambda v: v - 1, x), [
        (2, draw.randint(2, 5))
    ]


def repeated(draw: Random) -> Made:
    return lambda x: jax.lax.fori_loop(0, 3, lambda i, v: v @ v, x), [(4, 4)]


NETWORKS = (
    *(conv, transposed, dilated, line, dense, attention, own_attention, embedding, recurrent),
    *(scanned, pieces, products, maths, pools, resized, half, condition, repeated),
)


def _write(made: Callable[[Random], Made], **given: Any) -> Write:
    def write(draw: Random, path: Path) -> dict[str, Any]:
        run, shapes = made(draw)
        file = path.with_suffix(".onnx")
        to_onnx(run, shapes, return_mode="file", output_path=str(file), **given)
        chance = np.random.default_rng(0)
        sized = [[n if isinstance(n, int) else 3 for n in shape] for shape in shapes]
        if given.get("inputs_as_nchw"):
            sized = [[n, c, h, w] for n, h, w, c in sized]
        kinds = [
            onnx.helper.tensor_dtype_to_np_dtype(v.type.tensor_type.elem_type)
            for v in onnx.load(file).graph.input
        ]
        return oracle(
            file,
            [abs(chance.standard_normal(s)).astype(k) for s, k in zip(sized, kinds, strict=True)],
        )

    return write


if __name__ == "__main__":
    write_all(
        {made.__name__: _write(made) for made in NETWORKS}
        | {
            f"{made.__name__}-double": _write(made, enable_double_precision=True)
            for made in (conv, dense, maths)
        }
        | {
            f"{made.__name__}-turned": _write(made, inputs_as_nchw=[0], outputs_as_nchw=[0])
            for made in (conv, transposed)
        }
    )
