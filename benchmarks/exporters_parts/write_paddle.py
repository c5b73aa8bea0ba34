"""Files of paddle2onnx."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from tempfile import mkdtemp
from typing import Any

import numpy as np
import onnx
import paddle
import paddle2onnx
from making import Write, write_all
from onnx_oracle import oracle
from paddle import nn
from paddle.nn import functional as F

Made = tuple[Any, list[Any]]


class Fn(nn.Layer):
    """A layer of a function of its children and inputs."""

    def __init__(self, run: Callable[..., Any], count: int = 1, **children: Any) -> None:
        super().__init__()
        self.run, self.count = run, count
        for name, child in children.items():
            self.add_sublayer(name, child)

    def forward(self, x: Any) -> Any:
        return self.run(self, x)


def _image(draw: Random, c: int) -> list[Any]:
    return [draw.randint(1, 2), c, draw.randint(7, 11), draw.randint(7, 11)]


def conv(draw: Random) -> Made:
    a, b = draw.randint(1, 3), 2 * draw.randint(1, 3)
    net = nn.Sequential(
        nn.Conv2D(
            a,
            b,
            (3, draw.randint(1, 4)),
            stride=draw.randint(1, 2),
            padding=draw.choice((1, "SAME")),
        ),
        nn.BatchNorm2D(b),
        draw.choice((nn.ReLU6, nn.Hardswish, nn.Swish))(),
        nn.Conv2D(b, b, 3, groups=b, padding=1, dilation=draw.randint(1, 2)),
    )
    return net, _image(draw, a)


def transposed(draw: Random) -> Made:
    step = draw.randint(2, 3)
    up = nn.Conv2DTranspose(
        3, 4, 3, stride=step, padding=1, output_padding=draw.randint(0, step - 1)
    )
    return nn.Sequential(up, nn.Conv2DTranspose(4, 2, 2, groups=2)), [1, 3, draw.randint(4, 6), 5]


def pools(draw: Random) -> Made:
    ceil = draw.random() < 0.6

    def run(m: Any, x: Any) -> Any:
        a = F.max_pool2d(x, 3, 2, 1, ceil_mode=ceil)
        b = F.avg_pool2d(x, 2, 2, 0, ceil_mode=ceil)
        return a, b, F.adaptive_avg_pool2d(x, 1), F.adaptive_max_pool2d(x, 1), x.mean((2, 3))

    return Fn(run), _image(draw, 3)


def dense(draw: Random) -> Made:
    a = draw.randint(3, 8)
    return nn.Sequential(
        nn.Linear(a, 6), nn.GELU(), nn.LayerNorm(6), nn.Linear(6, 3), nn.Softmax()
    ), [4, a]


def open_dense(draw: Random) -> Made:
    net, shape = dense(draw)
    return net, [None, *shape[1:]]


def open_conv(draw: Random) -> Made:
    net = nn.Sequential(
        nn.Conv2D(3, 4, 3),
        nn.ReLU(),
        nn.AdaptiveAvgPool2D(1),
        nn.Flatten(),
        nn.Linear(4, draw.randint(2, 5)),
    )
    return net, [None, 3, 9, 11]


def encoder(draw: Random) -> Made:
    heads = draw.randint(1, 2)
    return nn.TransformerEncoderLayer(4 * heads, heads, 10), [2, draw.randint(3, 6), 4 * heads]


def gru(draw: Random) -> Made:
    return nn.GRU(3, draw.randint(2, 4)), [2, 5, 3]


def embedding(draw: Random) -> Made:
    table = nn.Embedding(draw.randint(9, 20), 4)
    return Fn(lambda m, x: m.table(x.astype("int64")), table=table), [2, 5]


def pieces(draw: Random) -> Made:
    def run(m: Any, x: Any) -> Any:
        a, b = paddle.split(x, 2, axis=1)
        y = paddle.concat((b, a), 1).transpose((0, 2, 1, 3))
        return (
            F.pad(y, (1, 0, 2, 1)),
            paddle.stack((a, b), 1),
            paddle.roll(x, 1, 2),
            x[:, ::2, 1:-1],
            paddle.tile(a, (1, 2, 1, 1)),
        )

    return Fn(run), _image(draw, 4)


def norms(draw: Random) -> Made:
    made = {"group": nn.GroupNorm(2, 4), "instance": nn.InstanceNorm2D(4)}
    return Fn(lambda m, x: F.log_softmax(m.instance(m.group(x)), 1), **made), _image(draw, 4)


def resized(draw: Random) -> Made:
    out = (draw.randint(5, 12), 9)

    def run(m: Any, x: Any) -> Any:
        return (
            F.interpolate(x, size=out, mode="bilinear"),
            F.interpolate(x, scale_factor=2),
            F.pixel_shuffle(x, 2),
        )

    return Fn(run), _image(draw, 4)


def maths(draw: Random) -> Made:
    def run(m: Any, x: Any) -> Any:
        top, at = paddle.topk(x, 2)
        return (
            top,
            at,
            x.argmax(-1),
            paddle.where(x > 0, x, -x),
            x.cumsum(1),
            x @ x.t(),
            paddle.einsum("ij,kj->ik", x, x),
        )

    return Fn(run), [3, draw.randint(4, 7)]


NETWORKS = (
    *(conv, transposed, pools, dense, open_dense, open_conv, encoder, gru, embedding, pieces),
    *(norms, resized, maths),
)


def _write(made: Callable[[Random], Made], **given: Any) -> Write:
    # Its own choice, polygraphy, installs packages while it exports.
    given = {"optimize_tool": "onnxoptimizer"} | given

    def write(draw: Random, path: Path) -> dict[str, Any]:
        paddle.seed(draw.randint(0, 999))
        net, shape = made(draw)
        net.eval()
        folder = Path(mkdtemp())
        spec = [paddle.static.InputSpec(shape, "float32", "x")]
        paddle.jit.save(paddle.jit.to_static(net, spec, full_graph=True), str(folder / "net"))
        model = next(
            p for ending in (".json", ".pdmodel") if (p := folder / f"net{ending}").exists()
        )
        weights = folder / "net.pdiparams"
        file = path.with_suffix(".onnx")
        paddle2onnx.export(str(model), str(weights) if weights.exists() else "", str(file), **given)
        x = np.abs(
            np.random.default_rng(0).standard_normal([3 if n in (None, -1) else n for n in shape])
        )
        kinds = [
            onnx.helper.tensor_dtype_to_np_dtype(v.type.tensor_type.elem_type)
            for v in onnx.load(file).graph.input
        ]
        return oracle(file, [x.astype(kind) for kind in kinds])

    return write


if __name__ == "__main__":
    write_all(
        {made.__name__: _write(made) for made in NETWORKS}
        | {f"{made.__name__}-opset17": _write(made, opset_version=17) for made in NETWORKS}
        | {f"{made.__name__}-plain": _write(made, optimize_tool="") for made in NETWORKS}
    )
