"""Darknet networks as PyTorch modules, a module a section."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from planners.importers.darknet.layers import INPUT, DarknetLayer, Network, Shape

_ACTIVATE: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "linear": lambda x: x,
    "leaky": lambda x: F.leaky_relu(x, 0.1),
    "mish": F.mish,
    "logistic": torch.sigmoid,
    "swish": F.silu,
    "relu": F.relu,
    "relu6": F.relu6,
    "tanh": torch.tanh,
}


class Darknet(nn.Module):
    """A network whose modules are named `12_convolutional`, after number and kind of the section.

    Reads images (batch × channels × height × width) and returns what no section reads: one tensor,
    or a tuple where there are several.
    """

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network
        self.ends = network.ends()
        self.dead: list[list[int]] = [[] for _ in network.layers]
        last = {source: at for at, layer in enumerate(network.layers) for source in layer.reads}
        for source, at in last.items():
            self.dead[at].append(source)
        for index, layer in enumerate(network.layers):
            inputs = [network.shape(source) for source in layer.reads]
            self.add_module(f"{index}_{layer.kind}", _MODULES.get(layer.kind, _Same)(layer, inputs))

    def forward(self, image: torch.Tensor) -> Any:
        values = {INPUT: image}
        for index, (layer, section) in enumerate(zip(self.network.layers, self.children())):
            values[index] = section(*(values[source] for source in layer.reads))
            for source in self.dead[index]:  # so that only what is still read stays in memory
                del values[source]
        results = tuple(values[index] for index in self.ends)
        return results[0] if len(results) == 1 else results


class _Same(nn.Module):
    def __init__(self, layer: DarknetLayer, inputs: list[Shape]) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


class _Convolutional(nn.Conv2d):
    # A subclass, so that the path of its operator is the section's own.
    def __init__(self, layer: DarknetLayer, inputs: list[Shape]) -> None:
        ((channels, _, _),) = inputs
        super().__init__(
            channels,
            layer.shape[0],
            layer.size,
            layer.stride,
            layer.padding * layer.dilation,
            layer.dilation,
            layer.groups,
            bias=not layer.norm,
        )
        self.norm = nn.BatchNorm2d(layer.shape[0]) if layer.norm else nn.Identity()
        self.activate = _ACTIVATE[layer.activation]

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return self.activate(self.norm(super().forward(input)))


class _Connected(nn.Linear):
    def __init__(self, layer: DarknetLayer, inputs: list[Shape]) -> None:
        ((channels, height, width),) = inputs
        super().__init__(channels * height * width, layer.shape[0], bias=not layer.norm)
        self.norm = nn.BatchNorm1d(layer.shape[0]) if layer.norm else nn.Identity()
        self.activate = _ACTIVATE[layer.activation]

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        value = self.activate(self.norm(super().forward(input.flatten(1))))
        return value.reshape(-1, self.out_features, 1, 1)


class _MaxPool(_Same):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        size, stride, padding = self.layer.size, self.layer.stride, self.layer.padding
        before, after = padding // 2, padding - padding // 2
        if before == after and before <= size // 2:
            return F.max_pool2d(x, size, stride, before)
        axes = list(zip(x.shape[2:], stride))
        counts = [(n + padding - size) // step + 1 for n, step in axes]
        for up in (False, True):  # PyTorch's windows without padding, the last one cut or not
            slack = [step - 1 if up else 0 for step in stride]
            same = [(n - size + s) // step + 1 for (n, step), s in zip(axes, slack)] == counts
            if same and not before and all((c - 1) * s < n for c, (n, s) in zip(counts, axes)):
                return F.max_pool2d(x, size, stride, ceil_mode=up)
        # Darknet passes over what lies outside.
        padded = F.pad(x, (before, after, before, after), value=-torch.inf)
        return F.max_pool2d(padded, size, stride)


class _AvgPool(_Same):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.adaptive_avg_pool2d(x, 1)


class _Route(_Same):
    def forward(self, *values: torch.Tensor) -> torch.Tensor:
        groups, group = self.layer.groups, self.layer.group
        if groups > 1:
            values = tuple(
                x[:, x.shape[1] // groups * group : x.shape[1] // groups * (group + 1)]
                for x in values
            )
        return values[0] if len(values) == 1 else torch.cat(values, 1)


class _Shortcut(_Same):
    def forward(self, x: torch.Tensor, *sources: torch.Tensor) -> torch.Tensor:
        for source in sources:
            step = source.shape[2] // x.shape[2]
            source = source[:, : x.shape[1], ::step, ::step]
            shared = source.shape[1]
            if shared == x.shape[1]:
                x = x + source
            else:
                x = torch.cat((x[:, :shared] + source, x[:, shared:]), 1)
        return _ACTIVATE[self.layer.activation](x)


class _Upsample(_Same):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.interpolate(x, scale_factor=self.layer.stride[0], mode="nearest")


class _Reorg(_Same):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        # Darknet takes the input's bytes for those of an image with fewer, larger channels.
        batch, channels, height, width = x.shape
        s = self.layer.stride[0]
        x = x.reshape(batch, channels // s**2, height, s, width, s).permute(0, 3, 5, 1, 2, 4)
        return x.reshape(batch, channels * s**2, height // s, width // s)


class _Softmax(_Same):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.layer.groups == 1:
            return torch.softmax(x.flatten(1), 1).reshape(x.shape)
        value = torch.softmax(x.reshape(x.shape[0], self.layer.groups, -1), 2)
        return value.reshape(x.shape)


_MODULES: dict[str, Callable[[DarknetLayer, list[Shape]], nn.Module]] = {
    "convolutional": _Convolutional,
    "connected": _Connected,
    "maxpool": _MaxPool,
    "avgpool": _AvgPool,
    "route": _Route,
    "shortcut": _Shortcut,
    "upsample": _Upsample,
    "reorg": _Reorg,
    "softmax": _Softmax,
}
