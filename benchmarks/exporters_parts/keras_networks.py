"""Small Keras networks: sizes by chance, every kind of layer that converters have."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import keras
from keras import layers as L


def _image(draw: Random, channels: int, low: int = 7, high: int = 12) -> keras.KerasTensor:
    return keras.Input((draw.randint(low, high), draw.randint(low, high), channels))


def _model(x: object, y: object) -> keras.Model:
    return keras.Model(x, y)


def conv(draw: Random) -> keras.Model:
    x = _image(draw, draw.randint(1, 3))
    a, b = 2 * draw.randint(1, 3), draw.randint(2, 5)
    padding = draw.choice(("same", "valid"))
    y = L.Conv2D(a, (3, draw.randint(1, 4)), strides=draw.randint(1, 2), padding=padding)(x)
    y = L.ReLU(6.0)(L.BatchNormalization()(y))
    z = L.DepthwiseConv2D(3, padding="same", depth_multiplier=draw.randint(1, 2))(y)
    z = L.Conv2D(a, 1, activation=draw.choice(("relu", "tanh", "hard_silu", "gelu", "silu")))(z)
    return _model(x, L.Conv2D(b, 2)(L.Add()([y, z])))


def dilated(draw: Random) -> keras.Model:
    x = _image(draw, 2)
    y = L.Conv2D(3, 3, dilation_rate=2, padding="same", activation="relu")(x)
    y = L.DepthwiseConv2D(2, dilation_rate=draw.randint(1, 2))(y)
    return _model(x, L.SeparableConv2D(4, 3, padding="same")(y))


def transposed(draw: Random) -> keras.Model:
    x = _image(draw, 3, 4, 6)
    same = draw.choice(("same", "valid"))
    y = L.Conv2DTranspose(4, draw.randint(2, 4), strides=draw.randint(1, 3), padding=same)(x)
    y = L.Conv2DTranspose(2, 3, strides=2, padding="same", use_bias=False)(L.LeakyReLU()(y))
    return _model(x, y)


def pools(draw: Random) -> keras.Model:
    x = _image(draw, 3)
    step = draw.randint(1, 3)
    ends = [
        L.MaxPooling2D(2, strides=step, padding="same")(x),
        L.AveragePooling2D(3, strides=2, padding=draw.choice(("same", "valid")))(x),
        L.GlobalAveragePooling2D()(x),
        L.GlobalMaxPooling2D(keepdims=True)(x),
    ]
    return _model(x, ends)


def line(draw: Random) -> keras.Model:
    x = keras.Input((draw.randint(9, 15), 3))
    y = L.Conv1D(4, 3, strides=2, padding=draw.choice(("same", "valid", "causal")))(x)
    y = L.MaxPooling1D(2)(L.Conv1D(4, 2, dilation_rate=1, groups=2)(y))
    return _model(x, L.GlobalAveragePooling1D()(y))


def box(draw: Random) -> keras.Model:
    x = keras.Input((4, draw.randint(4, 6), 5, 2))
    return _model(x, L.Conv3D(3, (2, 3, 2), padding=draw.choice(("same", "valid")))(x))


def dense(draw: Random) -> keras.Model:
    x = keras.Input((draw.randint(4, 9),))
    y = L.Dense(draw.randint(3, 6), activation="relu")(x)
    y = L.Dense(5, activation="sigmoid")(L.Dropout(0.3)(y))
    return _model(x, L.Softmax()(L.PReLU()(y)))


def dense_axes(draw: Random) -> keras.Model:
    x = keras.Input((3, draw.randint(2, 4), 4))
    y = L.Dense(5, use_bias=False)(x)
    y = L.EinsumDense("abcd,de->abce", output_shape=(None, None, 6))(L.UnitNormalization()(y))
    return _model(x, L.Softmax(axis=1)(y))


def attention(draw: Random) -> keras.Model:
    heads, each = draw.randint(1, 2), draw.randint(2, 4)
    x = keras.Input((draw.randint(3, 6), 5))
    y = L.MultiHeadAttention(heads, each)(x, x)
    y = L.LayerNormalization()(L.Add()([x, y]))
    return _model(x, L.Dense(5)(L.Dense(8, activation="gelu")(y)))


def lstm(draw: Random) -> keras.Model:
    x = keras.Input((draw.randint(3, 6), 3))
    return _model(x, L.LSTM(draw.randint(2, 4), return_sequences=draw.random() < 0.5)(x))


def bidirectional(draw: Random) -> keras.Model:
    x = keras.Input((draw.randint(3, 5), 3))
    return _model(x, L.Bidirectional(L.LSTM(3, return_sequences=True))(x))


def gru(draw: Random) -> keras.Model:
    x = keras.Input((draw.randint(3, 5), 3))
    return _model(x, L.GRU(draw.randint(2, 4))(x))


def unrolled(draw: Random) -> keras.Model:
    x = keras.Input((3, 4))
    return _model(x, L.GRU(draw.randint(2, 4), unroll=True)(x))


def embedding(draw: Random) -> keras.Model:
    x = keras.Input((draw.randint(4, 6),), dtype="int32")
    y = L.LayerNormalization()(L.Embedding(draw.randint(9, 30), 4)(x))
    return _model(x, L.Dense(3)(L.Flatten()(y)))


def pieces(draw: Random) -> keras.Model:
    x = _image(draw, 4)
    a, b = keras.ops.split(x, 2, axis=-1)
    y = L.Concatenate()([L.Conv2D(3, 1)(a), b])
    y = L.Permute((2, 1, 3))(L.Cropping2D(1)(L.ZeroPadding2D((2, 1))(y)))
    z = L.Concatenate(axis=1)([y, keras.ops.flip(y, 1), y[:, ::2]])
    return _model(x, [L.UpSampling2D(2, interpolation=draw.choice(("nearest", "bilinear")))(y), z])


def reshaped(draw: Random) -> keras.Model:
    n = draw.randint(2, 4)
    x = keras.Input((n, 6, 4))
    y = L.Reshape((n * 3, 2, 4))(x)
    y = L.Permute((3, 1, 2))(y)
    y = keras.ops.stack((y, y * 2.0), 1)
    return _model(x, keras.ops.sum(y, 2))


def maths(draw: Random) -> keras.Model:
    x = keras.Input((draw.randint(4, 7), 5))
    a = keras.ops.matmul(x, keras.ops.transpose(x, (0, 2, 1)))
    b = keras.ops.where(x > 0.0, x, keras.ops.exp(x))
    c = keras.ops.cumsum(b, 1) + keras.ops.max(x, 1, keepdims=True)
    d = keras.ops.argmax(x, -1)
    return _model(x, [a, c, d, keras.ops.top_k(x, 2)[0], keras.ops.var(x, -1)])


NETWORKS: dict[str, Callable[[Random], keras.Model]] = {
    made.__name__: made
    for made in (
        *(conv, dilated, transposed, pools, line, box, dense, dense_axes, attention, lstm),
        *(bidirectional, gru, unrolled, embedding, pieces, reshaped, maths),
    )
}


def made(name: str, draw: Random) -> keras.Model:
    """A network, its weights by the draw's seed."""
    keras.utils.set_random_seed(draw.randint(0, 2**31))
    return NETWORKS[name](draw)
