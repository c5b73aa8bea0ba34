"""A forward pass that changes torch for the whole process changes it for its own import alone."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_hook

import planners as sp
from planners.importers.torch import trace  # noqa: F401  # conftest.py watches what is loaded
from tests.importers.torch_state import changed, torch_state

SETS: Mapping[str, Callable[[], Any]] = {
    "seed": lambda: torch.manual_seed(1),
    "python's seed": lambda: random.seed(1),
    "numpy's seed": lambda: np.random.seed(1),
    "default type": lambda: torch.set_default_dtype(torch.float64),
    "default device": lambda: torch.set_default_device("meta"),
    "gradients on": lambda: torch.set_grad_enabled(True),
    "gradients off": lambda: torch.set_grad_enabled(False),
    "autocast": lambda: torch.autocast("cpu", torch.bfloat16).__enter__(),
    "deterministic": lambda: torch.use_deterministic_algorithms(True),
    "anomalies": lambda: torch.autograd.set_detect_anomaly(True),
    "precision": lambda: torch.set_float32_matmul_precision("medium"),
    "threads": lambda: torch.set_num_threads(1),
    "hooks": lambda: register_module_forward_hook(lambda *_: None),
}
LAYER = nn.Linear(8, 8)
TRANSFORMS: Mapping[str, Callable[[torch.Tensor], Any]] = {
    "vmap": lambda x: torch.vmap(LAYER)(x),
    "vmap that draws": lambda x: torch.vmap(
        lambda row: LAYER(row) + torch.randn(8), randomness="different"
    )(x),
    "grad": lambda x: torch.func.grad(lambda y: LAYER(y).sum())(x),
    "jvp": lambda x: torch.func.jvp(LAYER, (x,), (x,))[0],
    "vjp": lambda x: torch.func.vjp(LAYER, x)[0],
    "jacrev": lambda x: torch.func.jacrev(LAYER)(x),
    "functionalize": lambda x: torch.func.functionalize(LAYER)(x),
    "two levels": lambda x: torch.vmap(torch.vmap(LAYER))(x[None]),
}


class Does(nn.Module):
    """Does something beside its layer, and fails afterwards where it is told to."""

    def __init__(self, what: Callable[[], Any], fails: bool) -> None:
        super().__init__()
        self.layer, self.what, self.fails = LAYER, what, fails

    def forward(self, x: torch.Tensor) -> Any:
        self.what()
        if self.fails:
            raise ValueError("it fails")
        return self.layer(x)


class Transformed(nn.Module):
    def __init__(self, how: Callable[[torch.Tensor], Any]) -> None:
        super().__init__()
        self.layer, self.how = LAYER, how

    def forward(self, x: torch.Tensor) -> Any:
        return self.how(x)


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("what", SETS)
def test_what_a_forward_pass_sets_does_not_stay(what: str, fails: bool) -> None:
    module, x, before = Does(SETS[what], fails).eval(), torch.zeros(6, 8), torch_state()
    if fails or what == "autocast":
        with pytest.raises(sp.ImportFailed):
            sp.from_torch(module, (x,))
    else:
        assert sp.from_torch(module, (x,)).macs == 6 * 8 * 8
    assert changed(before) == []


@pytest.mark.parametrize("how", TRANSFORMS)
def test_a_refused_transform_leaves_no_level_open(how: str) -> None:
    module, x, before = Transformed(TRANSFORMS[how]).eval(), torch.zeros(6, 8), torch_state()
    said = "transforms of torch.func|torch.export cannot trace"
    with pytest.raises(sp.ImportFailed, match=said):
        sp.from_torch(module, (x,))
    assert changed(before) == []
    assert torch.randn(2).shape == (2,)
