"""The exporters that are judged, and the environments that they are installed in."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

PARTS = Path(__file__).parent
CONSTRAINTS = PARTS.parents[1] / "constraints.txt"


@dataclass(frozen=True, slots=True)
class Exporter:
    """A script of this folder that writes files, and the environment that it runs in."""

    name: str
    environment: str
    script: str


EXPORTERS = (
    Exporter("torch.onnx", "torch", "write_torch.py"),
    Exporter("torch.export", "torch", "write_pt2.py"),
    Exporter("torchao", "torchao", "write_quantised.py"),
    Exporter("onnxruntime", "torch", "write_ort.py"),
    Exporter("onnxruntime's optimiser", "torch", "write_ort_optimised.py"),
    Exporter("fused operators", "torch", "write_fused.py"),
    Exporter("onnxruntime-genai", "genai", "write_genai.py"),
    Exporter("strangers", "torch", "write_strangers.py"),
    Exporter("further strangers", "torch", "write_further.py"),
    Exporter("further strangers, TensorFlow Lite", "tensorflow", "write_further_tflite.py"),
    Exporter("tflite", "tensorflow", "write_tflite.py"),
    Exporter("ai-edge-quantizer", "tensorflow", "write_quantizer.py"),
    Exporter("keras", "torch", "write_keras.py"),
    Exporter("jax2onnx", "jax", "write_jax.py"),
    Exporter("paddle2onnx", "paddle", "write_paddle.py"),
    Exporter("skl2onnx", "sklearn", "write_sklearn.py"),
)
RUNTIME = ("onnx==1.23.2", "onnxruntime==1.32.0")
PACKAGES: dict[str, tuple[str, ...]] = {
    "torch": ("torch==2.13.0", "onnxscript==0.7.2", "keras==3.15.1", *RUNTIME),
    "torchao": ("torch==2.13.0", "torchao==0.18.0", "numpy"),
    "tensorflow": ("tensorflow-cpu==2.21.0", "ai-edge-quantizer==0.10.0", "ai-edge-litert==2.3.0"),
    "genai": (
        *("torch==2.13.0", "transformers==5.24.0", "onnxruntime-genai==0.18.0"),
        *("onnx-ir==1.1.0", "onnxscript==0.7.2", *RUNTIME),
    ),
    "jax": ("jax2onnx==0.17.1", *RUNTIME),
    "paddle": ("paddlepaddle==3.3.1", "paddle2onnx==2.1.0", "onnx==1.17.0", RUNTIME[1]),
    "xla": ("jax==0.10.2",),
    "vela": ("ethos-u-vela==5.2.0",),
    "zigzag": ("zigzag-dse==3.9.1", "six==1.17.0"),
    "sklearn": ("skl2onnx==1.20.0", "scikit-learn==1.9.1", *RUNTIME),
}


def python_of(name: str, folder: Path) -> Path:
    """The interpreter of an environment, which is made where it is not there or is another one."""
    home = folder / name
    python, held = home / "bin" / "python", home / "packages.txt"
    wanted = "\n".join(PACKAGES[name])
    if held.exists() and held.read_text() == wanted:
        return python
    subprocess.run([sys.executable, "-m", "venv", "--clear", home], check=True)
    given = ["-c", str(CONSTRAINTS)] if "torch" in PACKAGES[name][0] else []
    command = [python, "-m", "pip", "install", "-q", *PACKAGES[name], *given]
    subprocess.run(command, check=True)
    held.write_text(wanted)
    return python
