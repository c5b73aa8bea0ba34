"""ExecuTorch's exporter with its nodes in our order of least peak: what that buys, and is it right?

    pip install --no-deps executorch==1.5.1 torchao==0.18.0 ruamel.yaml tabulate
    python benchmarks/executorch_order.py [NAME...]

Modules that begin several branches before they end one, as code with lists of layers does. Each is
exported three times: planned by ExecuTorch's *greedy*, *packed* by us in its order, and *ordered*
by `least_peak_order` and packed. All three run on the same inputs; an output that differs by a bit
ends it with an error.
"""

from __future__ import annotations

import argparse
import logging
import tempfile
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

import torch
from executorch_plans import INPUTS, outputs, peak, write
from torch import nn
from torch.nn import functional

from planners.backends.executorch import least_peak_order, pack_memory


class Experts(nn.Module):
    """Eight experts on all of a sequence, weighed by a gate."""

    def __init__(self) -> None:
        super().__init__()
        self.wide = nn.ModuleList(nn.Linear(64, 256) for _ in range(8))
        self.back = nn.ModuleList(nn.Linear(256, 64) for _ in range(8))
        self.gate = nn.Linear(64, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.flatten(2).transpose(1, 2).expand(1, 1024, 64)
        hidden = [functional.gelu(layer(x)) for layer in self.wide]
        weights = self.gate(x).softmax(2)
        given = [layer(h) for layer, h in zip(self.back, hidden, strict=True)]
        total = given[0] * weights[..., 0:1]
        for k in range(1, 8):
            total = total + given[k] * weights[..., k : k + 1]
        return total


class Heads(nn.Module):
    """Attention written head by head."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.ModuleList(nn.Linear(64, 48) for _ in range(8))
        self.last = nn.Linear(128, 64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.flatten(2).transpose(1, 2).expand(1, 1024, 64)[:, :256]
        parts = [layer(x).split(16, 2) for layer in self.parts]
        scores = [(q @ k.transpose(1, 2)).softmax(2) for q, k, _ in parts]
        read = [s @ v for s, (_, _, v) in zip(scores, parts, strict=True)]
        return self.last(torch.cat(read, 2))


class PyramidPooling(nn.Module):
    """PSPNet's module, each scale brought back to full size."""

    def __init__(self) -> None:
        super().__init__()
        self.into = nn.Conv2d(1, 32, 3, padding=1)
        self.each = nn.ModuleList(nn.Conv2d(32, 8, 1) for _ in range(4))
        self.last = nn.Conv2d(32, 4, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.into(x).relu()
        wide = [functional.avg_pool2d(x, 2**k) for k in range(4)]
        done = [layer(w).relu() for layer, w in zip(self.each, wide, strict=True)]
        side = x.shape[2:]
        shown = [functional.interpolate(d, size=side, mode="nearest") for d in done]
        total = torch.zeros_like(shown[0])
        for each in shown:
            total = total + each
        return self.last(torch.cat([total] * 4, 1))


class Pyramid(nn.Module):
    """A detector's feature pyramid: maps of three sizes, all brought to one depth first."""

    def __init__(self) -> None:
        super().__init__()
        shapes = ((1, 16), (16, 32), (32, 64))
        self.into = nn.ModuleList(nn.Conv2d(a, b, 3, stride=2, padding=1) for a, b in shapes)
        self.across = nn.ModuleList(nn.Conv2d(depth, 64, 1) for depth in (16, 32, 64))
        self.last = nn.ModuleList(nn.Conv2d(64, 64, 3, padding=1) for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        maps = []
        for layer in self.into:
            x = layer(x).relu()
            maps.append(x)
        across = [layer(m) for layer, m in zip(self.across, maps, strict=True)]
        down = [across[2]]
        for lower in (across[1], across[0]):
            down.append(lower + functional.interpolate(down[-1], scale_factor=2.0))
        last = [layer(m).relu() for layer, m in zip(self.last, reversed(down), strict=True)]
        return torch.cat([m.amax((2, 3)) for m in last], 1)


class Ensemble(nn.Module):
    """Six small networks, layer by layer, and the mean of what they say."""

    def __init__(self) -> None:
        super().__init__()
        shapes = ((1, 24), (24, 24), (24, 8))
        self.nets = nn.ModuleList(
            nn.ModuleList(nn.Conv2d(a, b, 3, stride=2, padding=1) for a, b in shapes)
            for _ in range(6)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        states = [x] * len(self.nets)
        for depth in range(3):
            states = [net[depth](s).relu() for net, s in zip(self.nets, states, strict=True)]
        return torch.stack([s.mean((2, 3)) for s in states]).mean(0)


MODULES: Mapping[str, Callable[[], nn.Module]] = {
    "experts": Experts,
    "heads": Heads,
    "pyramid pooling": PyramidPooling,
    "feature pyramid": Pyramid,
    "ensemble": Ensemble,
}


def line(name: str, folder: Path) -> str:
    from executorch.exir import to_edge
    from executorch.exir.memory_planning import greedy

    torch.manual_seed(0)
    module = MODULES[name]().eval()
    inputs = [torch.randn(1, 1, 64, 64) for _ in range(INPUTS)]
    if name in ("experts", "heads"):
        inputs = [torch.randn(1, 64, 32, 32) for _ in range(INPUTS)]
    edge = to_edge(torch.export.export(module, (inputs[0],)))
    sizes, first = [], None
    for algorithm, passes in ((greedy, ()), (pack_memory, ()), (pack_memory, (least_peak_order,))):
        path = folder / f"{len(sizes)}.pte"
        write(edge, algorithm, path, passes)
        sizes.append(peak(path)[0])
        found = outputs(path, inputs)
        first = first or found
        if not all(torch.equal(a, b) for a, b in zip(first, found, strict=True)):
            raise SystemExit(f"{name}: outputs differ")
    own, packed, ordered = sizes
    return f"| {name} | {own:,} | {packed:,} | {ordered:,} | {1 - ordered / packed:.1%} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(MODULES))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    print("| module | greedy | packed | in order, packed | less by order |\n|---|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        for name in options.names or MODULES:
            print(line(name, Path(folder)), flush=True)


if __name__ == "__main__":
    main()
