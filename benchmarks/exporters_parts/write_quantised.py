"""Quantised exports of PyTorch, by torchao: of whole programs (pt2e) and of modules (`quantize_`).

Every quantiser that a processor without an accelerator runs: XNNPACK's and x86's, of tensors or
channels, static or dynamic, and int8, fewer bits and float8 of weights, with maps quantised as they
come.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import torch
from making import Write, write_all
from pt2_oracle import oracle
from torch_networks import made
from torchao import quantization as ao
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.pt2e.quantizer import x86_inductor_quantizer as x86
from torchao.testing.pt2e import _xnnpack_quantizer as xnnpack
from torchao.utils import unwrap_tensor_subclass

CONVOLUTIONS = ("conv", "conv_axes", "pools", "adaptive")
OF_32 = ("words", "perceptron")
"""Networks whose sizes groups of 32 weights divide."""
PRODUCTS = ("encoder", "matrices", *OF_32)


class Words(torch.nn.Module):
    """A layer of a decoder: a table, attention of projected heads, a gated product behind it."""

    def __init__(self, draw: Random) -> None:
        super().__init__()
        self.heads = draw.randint(1, 3)
        size, wide = 32 * self.heads, 32 * draw.randint(1, 4)
        self.table, self.norm = torch.nn.Embedding(50, size), torch.nn.LayerNorm(size)
        self.query, self.key, self.value, self.out = (torch.nn.Linear(size, size) for _ in range(4))
        self.gate, self.up = (torch.nn.Linear(size, wide, bias=False) for _ in range(2))
        self.down = torch.nn.Linear(wide, size)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        x = self.table(words)
        seen = self.norm(x)
        heads = [
            layer(seen).unflatten(-1, (self.heads, 32)).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        ]
        seen = torch.nn.functional.scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).flatten(2))
        return x + self.down(torch.nn.functional.silu(self.gate(x)) * self.up(x))


class Perceptron(torch.nn.Module):
    """Layers whose rows are words, of sizes that groups of 32 weights divide."""

    def __init__(self, draw: Random) -> None:
        super().__init__()
        sizes = [32 * draw.randint(1, 4) for _ in range(draw.randint(2, 4))]
        pairs = zip(sizes, sizes[1:], strict=False)
        layers = [torch.nn.Linear(a, b, bias=draw.random() < 0.7) for a, b in pairs]
        self.layers = torch.nn.ModuleList(layers)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x


def network(name: str, draw: Random) -> tuple[torch.nn.Module, tuple[Any, ...]]:
    if name not in ("perceptron", "words"):
        return made(name, draw)[:2]
    torch.manual_seed(draw.randint(0, 2**31))
    if name == "words":
        given = torch.randint(0, 50, (draw.randint(1, 2), draw.randint(2, 9)))
        return Words(draw).eval(), (given,)
    module = Perceptron(draw).eval()
    shape = (draw.randint(1, 6), module.layers[0].in_features)
    rows = (draw.randint(1, 3),) if draw.random() < 0.5 else ()
    return module, (torch.randn(*rows, *shape),)


def _xnnpack(dynamic: bool, channels: bool) -> Any:
    config = xnnpack.get_symmetric_quantization_config(is_per_channel=channels, is_dynamic=dynamic)
    return xnnpack.XNNPACKQuantizer().set_global(config)


def _x86(dynamic: bool) -> Any:
    config = x86.get_default_x86_inductor_quantization_config(is_dynamic=dynamic)
    return x86.X86InductorQuantizer().set_global(config)


PROGRAMS: dict[str, Callable[[], Any]] = {
    "xnnpack": lambda: _xnnpack(False, False),
    "xnnpack_channels": lambda: _xnnpack(False, True),
    "xnnpack_dynamic": lambda: _xnnpack(True, True),
    "x86": lambda: _x86(False),
    "x86_dynamic": lambda: _x86(True),
}
MODULES: dict[str, Callable[[Random], Any]] = {
    "int8": lambda draw: ao.Int8WeightOnlyConfig(),
    "int8_dynamic": lambda draw: ao.Int8DynamicActivationInt8WeightConfig(),
    "intx": lambda draw: ao.IntxWeightOnlyConfig(weight_dtype=_bits(draw)),
    "intx_groups": lambda draw: ao.IntxWeightOnlyConfig(
        weight_dtype=_bits(draw), granularity=ao.PerGroup(32)
    ),
    "intx_dynamic": lambda draw: ao.Int8DynamicActivationIntxWeightConfig(weight_dtype=_bits(draw)),
    "float8": lambda draw: ao.Float8WeightOnlyConfig(),
}


def _bits(draw: Random) -> torch.dtype:
    return getattr(torch, f"int{draw.randint(1, 8)}")


def _of_program(name: str, quantiser: str) -> Write:
    def write(draw: Random, path: Path) -> dict[str, Any]:
        logging.disable(logging.WARNING)
        module, inputs = network(name, draw)
        with torch.no_grad():
            program = torch.export.export(module, inputs).module()
            prepared = prepare_pt2e(program, PROGRAMS[quantiser]())
            prepared(*inputs)
            return _saved(convert_pt2e(prepared), inputs, path)

    return write


def _of_module(name: str, way: str, unwrapped: bool) -> Write:
    def write(draw: Random, path: Path) -> dict[str, Any]:
        logging.disable(logging.WARNING)
        module, inputs = network(name, draw)
        ao.quantize_(module, MODULES[way](draw))
        if unwrapped:
            unwrap_tensor_subclass(module)
        with torch.no_grad():
            return _saved(module, inputs, path)

    return write


def _saved(module: torch.nn.Module, inputs: tuple[Any, ...], path: Path) -> dict[str, Any]:
    program = torch.export.export(module, inputs)
    file = path.with_suffix(".pt2")
    torch.export.save(program, file)
    return oracle(file, inputs, program)


if __name__ == "__main__":
    write_all(
        {
            f"{name}-{way}": _of_program(name, way)
            for way in PROGRAMS
            for name in CONVOLUTIONS + PRODUCTS
        }
        | {
            f"{name}-{way}{'-unwrapped' * unwrapped}": _of_module(name, way, unwrapped)
            for way in MODULES
            for name in (OF_32 if way.startswith("intx") else PRODUCTS)
            for unwrapped in (False, True)
        }
    )
