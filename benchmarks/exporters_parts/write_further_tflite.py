"""TensorFlow Lite files that other projects ship in their packages, run by LiteRT."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

from making import Write, arguments, write_all
from packages import FURTHER, files_of
from tflite_oracle import oracle

SHAPES = {"pyopen_wakeword_melspectrogram": [[1, 1760]]}
"""Of inputs that a file leaves open and no network of it could run with."""


def _write(source: Path, name: str) -> Write:
    def write(draw: Random, path: Path) -> dict[str, Any]:
        file = path.parent / f"{path.name}.tflite"
        file.write_bytes(source.read_bytes())
        return oracle(file, resized=SHAPES.get(name))

    return write


if __name__ == "__main__":
    found = files_of(arguments().out / "packages", ".tflite", FURTHER)
    write_all({name: _write(source, name) for name, source in found})
