"""Files in TensorFlow Lite Micro's interpreter: a line of JSON for each, its head and outputs.

Each run begins anew, unless state is to be kept from one to the next. A file that it refuses has
the error in place of that.

python run_tflm.py INPUTS [--keep] FILE...
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

from planners.audits.readers.tflm_recorded import printed

ARENA_BYTES = 32_000_000


def head_bytes(interpreter: Any) -> int:
    text = printed(interpreter)
    found = re.search(r"Arena allocation head (\d+) bytes", text)
    assert found is not None, text
    return int(found[1])


def details(ask: Any) -> list[Any]:
    """Inputs or outputs: it says that there is no more by an error."""
    found: list[Any] = []
    while True:
        try:
            found.append(ask(len(found)))
        except (IndexError, ValueError, RuntimeError):
            return found


def drawn(rng: np.random.Generator, detail: Any) -> np.ndarray:
    kind = np.dtype(detail["dtype"])
    if kind.kind in "fc":
        return rng.standard_normal(detail["shape"]).astype(kind)
    if kind.kind == "b":
        return rng.random(detail["shape"]) < 0.5
    limits = np.iinfo(kind if kind != np.uint64 else np.int64)
    return rng.integers(limits.min, limits.max, detail["shape"], endpoint=True).astype(kind)


def run(path: str, count: int, keep: bool) -> dict[str, Any]:
    from tflite_micro.python.tflite_micro import runtime

    data = Path(path).read_bytes()
    interpreter = runtime.Interpreter.from_bytes(data, arena_size=ARENA_BYTES)
    head = head_bytes(interpreter)
    inputs = details(interpreter.get_input_details)
    outputs = range(len(details(interpreter.get_output_details)))
    rng, digests = np.random.default_rng(0), []
    for _ in range(count):
        if not keep:
            interpreter.reset()
        for number, detail in enumerate(inputs):
            interpreter.set_input(drawn(rng, detail), number)
        interpreter.invoke()
        seen = b"".join(interpreter.get_output(k).tobytes() for k in outputs)
        digests.append(hashlib.sha256(seen).hexdigest())
    return {"head": head, "outputs": digests}


if __name__ == "__main__":
    kept = sys.argv[2:3] == ["--keep"]
    for name in sys.argv[3 if kept else 2 :]:
        try:
            print(json.dumps(run(name, int(sys.argv[1]), kept)), flush=True)
        except RuntimeError as error:  # It refuses the file.
            print(json.dumps({"refused": str(error)}), flush=True)
