"""Small networks as PyTorch modules: sizes by chance, every kind of layer that exporters have."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

Made = tuple[nn.Module, tuple[Any, ...], Any]
"""A module, its inputs, and its open axes as `torch.export` has them."""


class Fn(nn.Module):
    """A module of a function of its children and inputs."""

    def __init__(self, run: Callable[..., Any], **children: nn.Module) -> None:
        super().__init__()
        self.run = run
        for name, child in children.items():
            self.add_module(name, child)

    def forward(self, *inputs: Any) -> Any:
        return self.run(self, *inputs)


def _image(draw: Random, channels: int, low: int = 7, high: int = 13) -> torch.Tensor:
    return torch.randn(
        draw.randint(1, 2), channels, draw.randint(low, high), draw.randint(low, high)
    )


def conv(draw: Random) -> Made:
    a, b = draw.randint(2, 4), 2 * draw.randint(1, 3)
    kernel = (draw.randint(1, 3), draw.randint(1, 4))
    first = nn.Conv2d(
        a, b, kernel, stride=draw.randint(1, 2), padding=1, dilation=draw.randint(1, 2)
    )
    more = draw.randint(1, 2)
    deep = nn.Conv2d(b, b * more, 3, padding=1, groups=b)
    last = nn.Conv2d(b * more, b, 1, bias=draw.random() < 0.5)
    norm, act = nn.BatchNorm2d(b), draw.choice((nn.ReLU6, nn.SiLU, nn.Hardswish, nn.GELU))()

    def run(m: Any, x: Any) -> Any:
        x = m.act(m.norm(m.first(x)))
        return x + m.last(m.deep(x))

    return Fn(run, first=first, norm=norm, act=act, deep=deep, last=last), (_image(draw, a),), None


def conv_same(draw: Random) -> Made:
    a = draw.randint(1, 3)
    kernel = (draw.choice((2, 4)), draw.randint(2, 3))
    net = nn.Sequential(
        nn.Conv2d(a, 4, kernel, padding="same", padding_mode=draw.choice(("zeros", "reflect"))),
        nn.ReLU(),
        nn.Conv2d(4, 6, 3, stride=2, groups=2),
    )
    return net, (_image(draw, a),), None


def conv_axes(draw: Random) -> Made:
    line = nn.Conv1d(3, 4, draw.randint(2, 4), stride=draw.randint(1, 3), padding=1)
    box = nn.Conv3d(1, 2, (1, 2, 3), stride=(1, 2, 1), padding=(0, 1, 1))

    def run(m: Any, x: Any, y: Any) -> Any:
        return F.max_pool1d(m.line(x), 2), F.avg_pool3d(m.box(y), 2)

    inputs = (torch.randn(2, 3, draw.randint(9, 17)), torch.randn(1, 1, 3, draw.randint(5, 8), 7))
    return Fn(run, line=line, box=box), inputs, None


def transposed(draw: Random) -> Made:
    a, step = draw.randint(2, 3), draw.randint(2, 3)
    more = draw.randint(0, step - 1)
    up = nn.ConvTranspose2d(a, 4, draw.randint(2, 4), stride=step, padding=1, output_padding=more)
    again = nn.ConvTranspose2d(4, 6, 3, groups=2, dilation=draw.randint(1, 2))
    line = nn.ConvTranspose1d(6, 2, 3, stride=2)

    def run(m: Any, x: Any) -> Any:
        x = m.again(torch.relu(m.up(x)))
        return m.line(x.flatten(2))

    return Fn(run, up=up, again=again, line=line), (_image(draw, a, 4, 6),), None


def pools(draw: Random) -> Made:
    ceil = draw.random() < 0.7
    inside = draw.random() < 0.5

    def run(m: Any, x: Any) -> Any:
        a = F.max_pool2d(x, 3, stride=2, padding=1, ceil_mode=ceil)
        b = F.avg_pool2d(
            x, (2, 3), stride=2, padding=(0, 1), ceil_mode=ceil, count_include_pad=inside
        )
        c = F.max_pool2d(x, 2, stride=3, ceil_mode=ceil)
        return a, b, c, F.adaptive_avg_pool2d(x, 1), x.mean((2, 3)), x.amax(1)

    return Fn(run), (_image(draw, 3),), None


def adaptive(draw: Random) -> Made:
    out = draw.randint(2, 3)

    def run(m: Any, x: Any) -> Any:
        return F.adaptive_avg_pool2d(x, (out, 3)), F.adaptive_max_pool2d(x, (2, out))

    return Fn(run), (torch.randn(1, 3, 6 * out, 12),), None


def matrices(draw: Random) -> Made:
    a, b = draw.randint(3, 9), draw.randint(2, 7)
    layer, last = nn.Linear(a, b), nn.Linear(b, 4, bias=False)
    kept = nn.ParameterList([nn.Parameter(torch.randn(3, 1, a, b)), nn.Parameter(torch.randn(b))])

    def run(m: Any, x: Any, y: Any) -> Any:
        z = torch.relu(m.layer(x))
        u = torch.matmul(x, m.kept[0])
        v = z @ m.kept[1]
        return m.last(z), torch.bmm(x, y), u, v, torch.addmm(z[0, :5], x[0], m.kept[0][0, 0])

    n = draw.choice((1, 3))
    inputs = (torch.randn(n, 5, a), torch.randn(n, a, 6))
    return Fn(run, layer=layer, last=last, kept=kept), inputs, None


def attention(draw: Random) -> Made:
    heads, each, n = draw.choice((1, 2, 3)), draw.randint(2, 5), draw.randint(3, 7)
    width = heads * each
    many = nn.MultiheadAttention(width, heads, batch_first=True)

    def run(m: Any, x: Any) -> Any:
        return m.many(x, x, x, need_weights=False)[0]

    return Fn(run, many=many), (torch.randn(2, n, width),), None


def sdpa(draw: Random) -> Made:
    n, k, d, e = (draw.randint(2, 6) for _ in range(4))
    q, key, v = torch.randn(2, 4, n, d), torch.randn(2, 4, k, d), torch.randn(2, 4, k, e)

    def run(m: Any, q: Any, key: Any, v: Any) -> Any:
        a = F.scaled_dot_product_attention(q, key, v)
        b = F.scaled_dot_product_attention(q, q, q, is_causal=True)
        mask = torch.ones(n, k, dtype=torch.bool)
        return a, b, F.scaled_dot_product_attention(q, key, v, attn_mask=mask, scale=0.3)

    return Fn(run), (q, key, v), None


def gqa(draw: Random) -> Made:
    n, d = draw.randint(2, 6), draw.randint(2, 6)

    def run(m: Any, q: Any, key: Any, v: Any) -> Any:
        return F.scaled_dot_product_attention(q, key, v, enable_gqa=True)

    return (
        Fn(run),
        (torch.randn(1, 4, n, d), torch.randn(1, 2, n, d), torch.randn(1, 2, n, d)),
        None,
    )


def encoder(draw: Random) -> Made:
    heads = draw.choice((1, 2))
    layer = nn.TransformerEncoderLayer(
        4 * heads, heads, 10, batch_first=True, activation="gelu", norm_first=draw.random() < 0.5
    )
    return layer, (torch.randn(2, draw.randint(3, 6), 4 * heads),), None


def lstm(draw: Random) -> Made:
    a, h = draw.randint(2, 5), draw.randint(2, 5)
    net = nn.LSTM(
        a, h, draw.randint(1, 2), batch_first=draw.random() < 0.5, bidirectional=draw.random() < 0.5
    )
    return net, (torch.randn(draw.randint(2, 3), draw.randint(4, 6), a),), None


def lstm_projected(draw: Random) -> Made:
    return nn.LSTM(5, 4, proj_size=draw.randint(1, 3)), (torch.randn(6, 2, 5),), None


def gru(draw: Random) -> Made:
    a, h = draw.randint(2, 5), draw.randint(2, 5)
    net = nn.GRU(a, h, draw.randint(1, 2), bidirectional=draw.random() < 0.5)
    return net, (torch.randn(draw.randint(4, 6), draw.randint(1, 3), a),), None


def rnn(draw: Random) -> Made:
    a, h = draw.randint(2, 5), draw.randint(2, 5)
    return nn.RNN(a, h, nonlinearity=draw.choice(("tanh", "relu"))), (torch.randn(5, 2, a),), None


def cells(draw: Random) -> Made:
    a, h = draw.randint(2, 5), draw.randint(2, 5)
    one, two = nn.LSTMCell(a, h), nn.GRUCell(h, a)

    def run(m: Any, x: Any) -> Any:
        h, c = m.one(x)
        return m.two(h), c

    return Fn(run, one=one, two=two), (torch.randn(3, a),), None


def embedding(draw: Random) -> Made:
    table = nn.Embedding(draw.randint(11, 40), 6)
    norm = nn.LayerNorm(6)

    def run(m: Any, ids: Any) -> Any:
        x = m.norm(m.table(ids))
        taken = torch.index_select(x, 1, torch.tensor([0, 2]))
        return x, taken, x.gather(2, (ids % 3).unsqueeze(-1))

    ids = torch.randint(0, 9, (2, draw.randint(4, 7)))
    return Fn(run, table=table, norm=norm), (ids,), None


def bag(draw: Random) -> Made:
    return nn.EmbeddingBag(9, 6, mode="sum"), (torch.randint(0, 9, (2, draw.randint(4, 7))),), None


def pieces(draw: Random) -> Made:
    c = 2 * draw.randint(2, 4)
    small = nn.Conv2d(c // 2, c // 2, 1)

    def run(m: Any, x: Any) -> Any:
        a, b = x.chunk(2, 1)
        x = torch.cat((m.small(a), b), 1)
        x = x.view(x.shape[0], 2, c // 2, *x.shape[2:]).transpose(1, 2).flatten(1, 2)
        first, second, third = torch.split(x, [1, 1, c - 2], 1)
        x = torch.stack((first, second), 1).squeeze(2)
        x = F.pad(x, (1, 0, 2, 1))
        return x[:, :, ::2, 1:-1], torch.roll(third, 1, 2), third.flip(3), x.repeat(1, 2, 1, 1)

    return Fn(run, small=small), (_image(draw, c),), None


def norms(draw: Random) -> Made:
    c = 2 * draw.randint(1, 3)
    made = {
        "group": nn.GroupNorm(2, c),
        "instance": nn.InstanceNorm2d(c, affine=draw.random() < 0.5),
        "batch": nn.BatchNorm2d(c),
    }

    def run(m: Any, x: Any) -> Any:
        x = m.instance(m.group(x))
        y = F.layer_norm(m.batch(x), x.shape[2:])
        return (
            F.softmax(x, 1),
            F.log_softmax(y, -1),
            F.normalize(x, dim=1),
            F.rms_norm(y, y.shape[3:]),
        )

    return Fn(run, **made), (_image(draw, c),), None


def resize(draw: Random) -> Made:
    out = draw.randint(5, 20), draw.randint(5, 20)

    def run(m: Any, x: Any) -> Any:
        a = F.interpolate(x, scale_factor=2.0, mode="nearest")
        b = F.interpolate(x, size=out, mode="bilinear", align_corners=False)
        c = F.interpolate(x, scale_factor=1.5, mode="bicubic")
        return a, b, c, F.pixel_shuffle(x, 2), F.pixel_unshuffle(F.pad(x, (0, x.shape[3] % 2)), 1)

    return Fn(run), (_image(draw, 4, 5, 9),), None


def einsums(draw: Random) -> Made:
    a, b = draw.randint(2, 5), draw.randint(2, 5)

    def run(m: Any, x: Any, y: Any) -> Any:
        return (
            torch.einsum("bij,bjk->bik", x, y),
            torch.einsum("bij,bjk->bk", x, y),
            torch.tensordot(x, y, dims=([2], [1])),
            torch.einsum("bij,bij->bj", x, x),
        )

    return Fn(run), (torch.randn(2, 3, a), torch.randn(2, a, b)), None


def types(draw: Random) -> Made:
    n = draw.randint(5, 9)

    def run(m: Any, x: Any, flags: Any) -> Any:
        big = x > 0.1
        chosen = torch.where(big & flags, x, -x)
        top, places = torch.topk(x, 3)
        most = x.argmax(-1)
        total = torch.cumsum(x.to(torch.float64), -1).to(torch.float16)
        order = torch.argsort(x, -1)
        return (
            chosen,
            top,
            places.to(torch.int32),
            most + 1,
            total,
            order,
            big.sum(-1),
            x.int() // 2,
        )

    return Fn(run), (torch.randn(3, n), torch.rand(3, n) > 0.5), None


def half(draw: Random) -> Made:
    net = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.LazyLinear(5))
    x = _image(draw, 3)
    net(x)
    return net.half(), (x.half(),), None


def brain(draw: Random) -> Made:
    a = draw.randint(3, 7)
    net = nn.Sequential(nn.Linear(a, 6), nn.LayerNorm(6), nn.Linear(6, 3)).bfloat16()
    return net, (torch.randn(2, a).bfloat16(),), None


def fake_quantised(draw: Random) -> Made:
    c = draw.randint(2, 4)
    layer = nn.Conv2d(c, 4, 3, padding=1)
    weight = torch.rand(4) * 0.1 + 0.01

    class Quantised(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer
            self.register_buffer("scale", weight)
            self.register_buffer("zero", torch.zeros(4, dtype=torch.int32))

        def forward(self, x: Any) -> Any:
            x = torch.fake_quantize_per_tensor_affine(x, 0.05, 0, -128, 127)
            w = torch.fake_quantize_per_channel_affine(
                self.layer.weight, self.scale, self.zero, 0, -128, 127
            )
            x = F.relu(F.conv2d(x, w, self.layer.bias, padding=1))
            return torch.fake_quantize_per_tensor_affine(x, 0.1, 3, 0, 255)

    return Quantised(), (_image(draw, c),), None


def stored_int8(draw: Random) -> Made:
    a = draw.randint(4, 8)

    class Stored(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("weight", torch.randint(-128, 127, (6, a), dtype=torch.int8))
            self.register_buffer("scale", torch.rand(6, 1))

        def forward(self, x: Any) -> Any:
            return F.linear(x, self.weight.to(x.dtype) * self.scale)

    return Stored(), (torch.randn(3, a),), None


def whole_product(draw: Random) -> Made:
    n = draw.randint(3, 6)

    def run(m: Any, x: Any, y: Any) -> Any:
        return x.int() @ y.int(), (x.long() @ y.long()).float()

    x, y = (
        torch.randint(0, 9, (n, 4), dtype=torch.int8),
        torch.randint(0, 9, (4, 5), dtype=torch.int8),
    )
    return Fn(run), (x, y), None


def kept(draw: Random) -> Made:
    class Cache(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("held", torch.zeros(2, 6, 4))
            self.layer = nn.Linear(4, 4)

        def forward(self, x: Any) -> Any:
            self.held.copy_(torch.cat((self.held[:, x.shape[1] :], self.layer(x)), 1))
            return self.held.sum(1)

    return Cache(), (torch.randn(2, draw.randint(1, 3), 4),), None


def dynamic_conv(draw: Random) -> Made:
    net = nn.Sequential(nn.Conv2d(3, 4, 3, stride=2, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1))
    net = nn.Sequential(*net, nn.Flatten(), nn.Linear(4, draw.randint(2, 5)))
    batch = torch.export.Dim("batch", min=2, max=64)
    return net, (torch.randn(draw.randint(3, 5), 3, 9, 11),), ({0: batch},)


def dynamic_length(draw: Random) -> Made:
    net = nn.TransformerEncoderLayer(4, 2, 6, batch_first=True)
    axes = ({0: torch.export.Dim("batch", min=2), 1: torch.export.Dim("length", min=2, max=99)},)
    return net, (torch.randn(3, draw.randint(4, 7), 4),), axes


def dynamic_lstm(draw: Random) -> Made:
    net = nn.LSTM(3, draw.randint(2, 4), batch_first=True)
    return net, (torch.randn(3, 5, 3),), ({0: torch.export.Dim("batch", min=2, max=64)},)


def spectra(draw: Random) -> Made:
    def run(m: Any, x: Any) -> Any:
        return torch.view_as_real(torch.fft.rfft(x)), torch.fft.rfft(x).abs()

    return Fn(run), (torch.randn(2, 2 * draw.randint(4, 8)),), None


def sampled(draw: Random) -> Made:
    def run(m: Any, x: Any, grid: Any) -> Any:
        return F.grid_sample(x, grid, align_corners=False), F.unfold(x, 2), x.cumprod(1)

    n = draw.randint(3, 6)
    return Fn(run), (torch.randn(1, 2, 5, 6), torch.rand(1, n, 4, 2)), None


NETWORKS: dict[str, Callable[[Random], Made]] = {
    made.__name__: made
    for made in (
        *(conv, conv_same, conv_axes, transposed, pools, adaptive, matrices, attention, sdpa, gqa),
        *(encoder, lstm, lstm_projected, gru, rnn, cells, embedding, bag, pieces, norms, resize),
        *(einsums, types, half, brain, fake_quantised, stored_int8, whole_product, kept),
        *(dynamic_conv, dynamic_length, dynamic_lstm, spectra, sampled),
    )
}


def made(name: str, draw: Random) -> Made:
    """A network in evaluation, its weights by the draw's seed."""
    torch.manual_seed(draw.randint(0, 2**31))
    module, inputs, axes = NETWORKS[name](draw)
    return module.eval(), inputs, axes
