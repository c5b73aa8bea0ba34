"""What LiteRT has for the tensors of files when it runs them: a line of JSON for each file.

python run_litert.py FILE...   # or files by lines on the standard input

Behind a file and a tab may stand the shapes of its inputs, as JSON, where they are not its own.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tflite_oracle import oracle


def told(line: str) -> dict[str, Any]:
    path, _, shapes = line.partition("\t")
    try:
        return oracle(Path(path), resized=json.loads(shapes or "null"))
    except (RuntimeError, ValueError) as error:  # what it does not run
        return {"error": " ".join(str(error).split())[:200]}


if __name__ == "__main__":
    for name in sys.argv[1:] or sys.stdin.read().splitlines():
        print(json.dumps(told(name)), flush=True)
