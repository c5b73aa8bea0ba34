"""Write `core.txt` and `test.txt`: every package of constraints.txt with the hashes of its files.

    pip install uv && python requirements/make.py

again whenever constraints.txt changes; a test compares them. torch and torchvision are left out:
their builds without CUDA come from elsewhere and have hashes of their own. So are packages that
constraints.txt does not pin, which only torch's builds with CUDA need.
"""

import re
import subprocess
from pathlib import Path

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent
APART = ("torch", "torchvision")
OLDEST = "3.11.5"  # what mkdocs' extensions need
HEAD = "# Written by requirements/make.py. Versions are those of constraints.txt.\n"
ENTRY = re.compile(r"^(?=\S)", re.MULTILINE)


def plain(line: str) -> str:
    """The name of a pinned package, as indices compare names."""
    return re.sub(r"[-_.]+", "-", line.split("==")[0]).lower()


def entries(text: str) -> list[str]:
    """The packages of a file, each with its hashes."""
    return [entry for entry in ENTRY.split(text) if "==" in entry.split("\n")[0]]


def made(*extras: str) -> str:
    """What `uv` finds for all systems, less what is not pinned."""
    pins = {plain(line) for line in entries((ROOT / "constraints.txt").read_text())}
    command = ["uv", "pip", "compile", "pyproject.toml", "-c", "constraints.txt", "--universal"]
    command += ["--python-version", OLDEST, "--generate-hashes", "--no-header", "--no-annotate"]
    command += [word for name in APART for word in ("--no-emit-package", name)]
    command += [word for extra in extras for word in ("--extra", extra)]
    done = subprocess.run([*command, "-q"], cwd=ROOT, capture_output=True, text=True, check=True)
    return HEAD + "".join(entry for entry in entries(done.stdout) if plain(entry) in pins)


if __name__ == "__main__":
    (FOLDER / "core.txt").write_text(made())
    (FOLDER / "test.txt").write_text(made("test"))
