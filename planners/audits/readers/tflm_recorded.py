"""What TensorFlow Lite Micro's recording allocator says of a file, as a line of JSON.

    python tflm_recorded.py FILE

Run as a script, in a process of its own: the runtime prints past Python, and ends it where a file
breaks it.
"""

from __future__ import annotations

import json
import os
import re
import struct
import sys
import tempfile
from pathlib import Path
from typing import Any

ARENA_BYTES = 2**28


def recorded(path: Path) -> dict[str, int]:
    """Bytes of the head and of the tail, and those of a pointer."""
    from tflite_micro.python.tflite_micro import runtime  # type: ignore[import-not-found]

    interpreter = runtime.Interpreter.from_bytes(
        path.read_bytes(),
        arena_size=ARENA_BYTES,
        intrepreter_config=runtime.InterpreterConfig.kAllocationRecording,
    )
    parts = dict(re.findall(r"Arena allocation (head|tail) (\d+) bytes", printed(interpreter)))
    return {**{name: int(size) for name, size in parts.items()}, "word": struct.calcsize("P")}


def printed(interpreter: Any) -> str:
    """What an interpreter prints of its allocations: past Python, to the process's own outputs."""
    with tempfile.TemporaryFile() as file:
        kept = [os.dup(1), os.dup(2)]
        for number in (1, 2):
            os.dup2(file.fileno(), number)
        interpreter.print_allocations()
        for number, before in enumerate(kept, 1):
            os.dup2(before, number)
        file.seek(0)
        return file.read().decode("utf-8", "replace")


if __name__ == "__main__":
    print(json.dumps(recorded(Path(sys.argv[1]))))
