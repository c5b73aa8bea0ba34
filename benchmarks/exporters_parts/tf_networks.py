"""Functions of TensorFlow that no layer writes: what converters must say by other operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import tensorflow as tf

Made = tuple[Callable[..., Any], Sequence[Any]]


def _spec(*shape: int | None, dtype: Any = tf.float32) -> Any:
    return tf.TensorSpec(shape, dtype)


def products(draw: Random) -> Made:
    a, b, c = (draw.randint(2, 6) for _ in range(3))

    def run(x: Any, y: Any) -> Any:
        z = tf.matmul(x, y, adjoint_b=True)
        return (
            z,
            tf.matmul(z, y),
            tf.matmul(x, x, transpose_a=True),
            tf.einsum("bij,bkj->bik", x, y),
        )

    return run, [_spec(2, a, b), _spec(2, c, b)]


def slices(draw: Random) -> Made:
    n = draw.randint(6, 9)

    def run(x: Any) -> Any:
        a = x[:, 1:-1, ::2]
        b = tf.gather(x, [0, 2, 1], axis=1)
        c = tf.gather_nd(x, [[0, 1], [1, 2]])
        d = tf.unstack(x, axis=2)[0] + x[..., -1]
        return a, b, c, d, tf.tile(x, (1, 2, 1)), tf.reverse(x, [1]), x[:, tf.newaxis]

    return run, [_spec(2, n, 5)]


def images(draw: Random) -> Made:
    n = 2 * draw.randint(2, 4)

    def run(x: Any) -> Any:
        a = tf.nn.depth_to_space(x, 2)
        b = tf.nn.space_to_depth(x, 2)
        c = tf.image.resize(x, (7, 9), method=draw_method)
        d = tf.pad(x, ((0, 0), (1, 2), (0, 1), (0, 0)), "REFLECT")
        return (
            a,
            b,
            c,
            d,
            tf.nn.local_response_normalization(x),
            tf.space_to_batch(x, (2, 2), tf.zeros((2, 2), tf.int32)),
        )

    draw_method = draw.choice(("nearest", "bilinear"))
    return run, [_spec(1, n, n, 4)]


def grouped(draw: Random) -> Made:
    weight = tf.random.stateless_normal((3, 3, 2, 6), (0, 1))

    def run(x: Any) -> Any:
        return tf.nn.conv2d(x, weight, (1, 1), draw_padding)

    draw_padding = draw.choice(("SAME", "VALID"))
    return run, [_spec(1, draw.randint(5, 8), 7, 6)]


def types(draw: Random) -> Made:
    def run(x: Any, y: Any) -> Any:
        a = tf.cast(x, tf.int64) + tf.cast(y, tf.int64)
        b = tf.one_hot(y % 4, 4)
        c = tf.cast(x > 0.5, tf.float32) * tf.cast(tf.math.floormod(y, 3), tf.float32)
        return (
            a,
            b,
            c,
            tf.argmax(x, -1),
            tf.math.top_k(x, 2),
            tf.logical_not(x > 0.5),
            tf.range(5) + y[0, 0],
        )

    n = draw.randint(3, 7)
    return run, [_spec(2, n), _spec(2, n, dtype=tf.int32)]


def second_batch(draw: Random) -> Made:
    """A batch that is open, and an axis computed from it."""
    weight = tf.random.stateless_normal((6, 4), (0, 1))

    def run(x: Any) -> Any:
        y = tf.reshape(x, (tf.shape(x)[0], -1))
        return tf.matmul(y, weight)

    return run, [_spec(None, 2, 3)]


def product_of_values(draw: Random) -> Made:
    """Filters that are computed."""

    def run(x: Any, w: Any) -> Any:
        return tf.nn.conv2d(x, w, (2, 2), "SAME"), tf.matmul(
            tf.reshape(w, (-1, 4)), tf.ones((4, 3))
        )

    return run, [_spec(1, draw.randint(5, 8), 7, 3), _spec(3, 3, 3, 4)]


def looped(draw: Random) -> Made:
    weight = tf.random.stateless_normal((4, 4), (0, 1))

    def run(x: Any) -> Any:
        return tf.while_loop(
            lambda i, v: i < 3, lambda i, v: (i + 1, tf.matmul(v, weight)), (0, x)
        )[1]

    return run, [_spec(2, 4)]


def counted(draw: Random) -> Made:
    """A variable that is kept."""
    held = tf.Variable(tf.zeros((2, 4)))

    def run(x: Any) -> Any:
        held.assign(held + x)
        return held * 2.0

    return run, [_spec(2, 4)]


def hits(draw: Random) -> Made:
    """Sizes that data decide."""

    def run(x: Any) -> Any:
        return tf.cast(tf.where(x > 0.0), tf.float32) * 2.0

    return run, [_spec(2, draw.randint(4, 9))]


def masked(draw: Random) -> Made:
    def run(x: Any) -> Any:
        return tf.nn.relu(tf.boolean_mask(x, x[:, 0] > 0.0))

    return run, [_spec(draw.randint(4, 9), 3)]


def padded(draw: Random) -> Made:
    """An open batch that is filled up."""

    def run(x: Any) -> Any:
        return tf.nn.relu(tf.pad(x, [[0, 7 - tf.shape(x)[0]], [0, 0]]))

    return run, [_spec(None, draw.randint(3, 6))]


def from_zeros(draw: Random) -> Made:
    """A state that begins as zeros for each of an open batch."""
    weight = tf.random.stateless_normal((5, 5), (0, 1))

    def run(x: Any) -> Any:
        state = tf.zeros((tf.shape(x)[0], 5))
        return tf.tanh(tf.matmul(state, weight) + x)

    return run, [_spec(None, 5)]


def signal(draw: Random) -> Made:
    def run(x: Any) -> Any:
        y = tf.signal.rfft(x)
        return tf.abs(y), tf.math.real(y), tf.math.cumsum(x, -1)

    return run, [_spec(2, 16)]


FUNCTIONS: dict[str, Callable[[Random], Made]] = {
    made.__name__: made
    for made in (
        *(products, slices, images, grouped, types, second_batch, product_of_values, looped),
        *(counted, hits, masked, padded, from_zeros, signal),
    )
}
