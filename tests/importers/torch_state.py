"""What torch keeps for a whole process, as far as it can be seen: equal before and after?"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import torch
from torch.nn.modules import module as modules
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

_GLOBAL_HOOKS = [name for name in vars(modules) if name.startswith("_global_")]


def torch_state() -> dict[str, Any]:
    """Defaults, modes, levels of transforms, hooks and seeds."""
    return {
        "default dtype": torch.get_default_dtype(),
        "default device": torch.get_default_device(),
        "gradients": torch.is_grad_enabled(),
        "inference mode": torch.is_inference_mode_enabled(),
        "autocast": (torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")),
        "deterministic": torch.get_deterministic_debug_mode(),
        "anomaly": torch.is_anomaly_enabled(),
        "matmul precision": torch.get_float32_matmul_precision(),
        "threads": torch.get_num_threads(),
        "levels of transforms": torch._C._functorch.get_dynamic_layer_stack_depth(),
        "dispatch modes": [type(mode) for mode in _get_current_dispatch_mode_stack()],
        "function modes": torch._C._len_torch_function_stack(),
        "exporting": torch.compiler.is_exporting(),
        "compiling": torch.compiler.is_compiling(),
        "saved tensors": torch._C._autograd._saved_tensors_hooks_is_enabled(),
        "hooks": {name: repr(getattr(modules, name)) for name in _GLOBAL_HOOKS},
        "seed": torch.get_rng_state().numpy().tobytes(),
        "python's seed": random.getstate(),
        "numpy's seed": np.random.get_state()[1].tobytes(),  # type: ignore[index, union-attr]
    }


def changed(before: dict[str, Any]) -> list[str]:
    """The names of what differs by now."""
    now = torch_state()
    return [name for name, value in before.items() if now[name] != value]
