"""What TensorFlow Lite Micro's arena must have in all: the head, and the tail, which stays.

The tail holds what is there from the first run to the last: a record for each tensor and operator,
what kernels keep for themselves, variables. It depends on the runtime's version and on the size of
a pointer. Where the wheel `tflite-micro` is installed, its own recording allocator says it, in a
process of its own; elsewhere it is estimated for pointers of 64 bits from the sizes of its records
(tensorflow/tflite-micro: `micro_allocator.cc`, `builtin_op_data.h`, the kernels' `OpData`).
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import platform
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from planners.audits.readers.tflm import arena_bytes, offline_offsets, variables
from planners.importers.tflite.file import TfliteFile, read_tflite

PACKAGE = "tflite_micro"
RECORDER = Path(__file__).with_name("tflm_recorded.py")
PATIENCE_S = 60.0
ALIGNMENT = 16
OF_ALL, OF_TENSOR, OF_OPERATOR = 524, 24, 64
OF_INTERFACE, OF_QUANTIZATION = 64, 32
"""Of each input and output of the network, and of its scale where it has one."""
OF_CHANNEL = 8
"""A multiplier and a shift for each output channel."""
OPTIONS: Mapping[str, int] = {
    "ADD": 8, "AVERAGE_POOL_2D": 40, "CONCATENATION": 8, "CONV_2D": 28, "DEPTHWISE_CONV_2D": 28,
    "FULLY_CONNECTED": 32, "MAX_POOL_2D": 40, "MUL": 4, "RESHAPE": 36, "SOFTMAX": 4, "SUB": 8,
    "SVDF": 12, "TRANSPOSE_CONV": 28, "UNIDIRECTIONAL_SEQUENCE_LSTM": 40,
}  # fmt: skip
"""Bytes of an operator's options; `USUAL` of others."""
KERNEL: Mapping[str, int] = {
    "ADD": 56, "AVERAGE_POOL_2D": 32, "CONV_2D": 80, "DEPTHWISE_CONV_2D": 80, "FULLY_CONNECTED": 76,
    "MAX_POOL_2D": 32, "MUL": 36, "RESHAPE": 0, "SOFTMAX": 80, "SUB": 56, "SVDF": 40,
    "TRANSPOSE_CONV": 80, "UNIDIRECTIONAL_SEQUENCE_LSTM": 690, "CONCATENATION": 64, "PAD": 64,
}  # fmt: skip
"""Bytes that a kernel keeps for itself, without its channels; `USUAL_KERNEL` of others."""
USUAL, USUAL_KERNEL = 8, 44
BY_CHANNEL = ("CONV_2D", "DEPTHWISE_CONV_2D", "TRANSPOSE_CONV")


@dataclass(frozen=True, slots=True)
class ArenaNeed:
    """Bytes of an arena: of what comes and goes, and of what stays; for which runtime.

    Where it is not `measured`, the tail is an estimate.
    """

    head_bytes: int
    tail_bytes: int
    runtime: str
    word_bits: int
    measured: bool

    @property
    def total_bytes(self) -> int:
        return self.head_bytes + self.tail_bytes

    def facts(self) -> dict[str, object]:
        """As JSON holds it."""
        return {
            "head_bytes": self.head_bytes,
            "tail_bytes": self.tail_bytes,
            "total_bytes": self.total_bytes,
            "runtime": self.runtime,
            "word_bits": self.word_bits,
            "measured": self.measured,
        }

    def sentence(self) -> str:
        """The need in one sentence."""
        about = "" if self.measured else "about "
        how = f"as {self.runtime} records it" if self.measured else (
            f"the tail estimated for {self.runtime}; where the wheel tflite-micro is installed, "
            "it is measured"
        )  # fmt: skip
        return (
            f"arena: {about}{self.total_bytes:,} bytes, a head of {self.head_bytes:,} and a tail "
            f"of {about}{self.tail_bytes:,}; {how}"
        )


def arena_need(path: str | Path, head_bytes: int, *, measure: bool) -> ArenaNeed:
    """What a file's arena must have with a head of so many bytes, which may be another plan's.

    With `measure`, the runtime says the tail where it is installed: it is run on the file. Raises
    `BadInput` for a broken file.
    """
    if measure and (recorded := _measured(Path(path))):
        return replace(recorded, head_bytes=head_bytes)
    return ArenaNeed(
        head_bytes,
        estimated_tail_bytes(read_tflite(path)),
        "TensorFlow Lite Micro's reference kernels with pointers of 64 bits",
        64,
        measured=False,
    )


def _measured(path: Path) -> ArenaNeed | None:
    """What the runtime itself records; None where it is not installed, or does not run the file."""
    if importlib.util.find_spec(PACKAGE) is None:
        return None
    command = [sys.executable, str(RECORDER), str(path.absolute())]
    try:
        ran = subprocess.run(command, capture_output=True, timeout=PATIENCE_S, check=False)
        record = json.loads(ran.stdout)
    except (subprocess.TimeoutExpired, OSError, ValueError):
        return None
    version = importlib.metadata.version(PACKAGE.replace("_", "-"))
    runtime = f"tflite-micro {version} on {platform.machine()}"
    return ArenaNeed(record["head"], record["tail"], runtime, 8 * record["word"], measured=True)


def estimated_tail_bytes(file: TfliteFile) -> int:
    """The tail with pointers of 64 bits, within some percent."""
    tail, main = OF_ALL, file.subgraphs[0]
    placed = variables(file, offline_offsets(file))
    every = [tensor for graph in file.subgraphs for tensor in graph.tensors]
    for number, tensor in enumerate(every):
        if tensor.variable and str(number) not in placed:
            tail += arena_bytes(tensor)
    for graph in file.subgraphs:
        tail += OF_TENSOR * len(graph.tensors) + OF_OPERATOR * len(graph.operators)
        for operator in graph.operators:
            tail += OPTIONS.get(operator.kind, USUAL) + KERNEL.get(operator.kind, USUAL_KERNEL)
            if operator.kind in BY_CHANNEL and operator.outputs:
                tail += OF_CHANNEL * (graph.tensors[operator.outputs[0]].shape or (0,))[-1]
    for number in (*main.inputs, *main.outputs):
        tail += OF_INTERFACE + OF_QUANTIZATION * bool(main.tensors[number].scales)
    return -(-tail // ALIGNMENT) * ALIGNMENT
