"""The benchmarks by name: which there are, and one of them run.

python benchmarks/run.py
python benchmarks/run.py NAME [OPTION...]
"""

from __future__ import annotations

import ast
import runpy
import sys
from pathlib import Path

HERE = Path(__file__).parent


def benchmarks() -> dict[str, str]:
    """What each asks, in its first line, by name; modules that others share ask nothing."""
    found = {}
    for path in sorted(HERE.glob("*.py")):
        text = path.read_text("utf-8")
        if path.name != "run.py" and "__main__" in text:
            found[path.stem] = (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]
    return found


def main() -> None:
    every = benchmarks()
    if len(sys.argv) < 2 or sys.argv[1] not in every:
        width = max(map(len, every))
        print("\n".join(f"{name:{width}}  {asks}" for name, asks in every.items()))
        sys.exit(f"there is no benchmark {sys.argv[1]!r:.80}" if len(sys.argv) > 1 else None)
    path = HERE / f"{sys.argv[1]}.py"
    sys.argv = [str(path), *sys.argv[2:]]
    sys.path[:0] = [str(HERE.parent), str(HERE)]
    runpy.run_path(str(path), run_name="__main__")


if __name__ == "__main__":
    main()
