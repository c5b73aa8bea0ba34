"""Files of `torch.export.save`."""

from __future__ import annotations

import logging
from pathlib import Path
from random import Random
from typing import Any

import torch
from making import Write, write_all
from pt2_oracle import oracle
from torch_networks import NETWORKS, made


def _write(name: str, decomposed: bool) -> Write:
    def write(draw: Random, path: Path) -> dict[str, Any]:
        logging.disable(logging.WARNING)
        module, inputs, axes = made(name, draw)
        with torch.no_grad():
            program = torch.export.export(module, inputs, dynamic_shapes=axes)
            if decomposed:
                program = program.run_decompositions()
        file = path.with_suffix(".pt2")
        torch.export.save(program, file)
        return oracle(file, inputs)

    return write


if __name__ == "__main__":
    write_all(
        {name: _write(name, False) for name in NETWORKS}
        | {f"{name}-core": _write(name, True) for name in NETWORKS}
    )
