"""Write docs/licences.md and docs/data/licences.csv: what is installed, under which licences.

    python requirements/licences.py

in an environment that `run.py` has made, again whenever constraints.txt changes. The licences are
those that each package names in its own metadata. A test holds the list to the packages, and each
licence to those that are known here.
"""

import re
from collections import Counter
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WRITTEN = ROOT / "docs" / "licences.md"
LIST = ROOT / "docs" / "data" / "licences.csv"
APART = ("torch", "torchvision")  # by version alone: requirements/make.py
PLAIN = {
    "apache": "Apache-2.0",
    "mozilla": "MPL-2.0",
    "3-clause": "BSD-3-Clause",
    "bsd-3": "BSD-3-Clause",
    "bsd": "BSD",
    "isc": "ISC",
    "mit": "MIT",
}
"""Words of a licence that is not named by SPDX, and what they mean."""
KNOWN = set(
    "0BSD Apache-2.0 BSD BSD-2-Clause BSD-3-Clause BSL-1.0 CC-BY-4.0 CC0-1.0 ISC "
    "LLVM-exception MIT MIT-CMU MPL-2.0 PSF-2.0 Zlib".split()
)
"""All let what they cover be used, changed and passed on with their notice. MPL-2.0 asks that
changed files of such a package stay open; nothing of them is changed here."""
HEAD = """# Licences of what is installed

Spillway is under the BSD 3-Clause licence (`LICENSE`). [These packages](data/licences.csv) are
installed beside it, each under the licence that it names itself. PuLP contains the solver CBC,
which is under EPL-2.0 and runs as a program of its own. `python requirements/licences.py` writes
this page and the list.

| licence | packages |
|---|--:|
"""


def packages() -> list[str]:
    """The names of all packages that are installed without the tests' own."""
    lines = (ROOT / "requirements" / "core.txt").read_text().splitlines()
    return sorted([line.split("==")[0] for line in lines if "==" in line] + list(APART))


def licence_of(name: str) -> str:
    """The licence that a package names: an SPDX expression where there is one."""
    told = metadata.metadata(name)
    if expression := told.get("License-Expression"):
        return str(expression)
    first = (told.get("License") or "").strip().split("\n")[0]
    if first and set(re.split(r" AND | OR ", first)) <= KNOWN:
        return first
    classes = [line for line in told.get_all("Classifier") or [] if line.startswith("License")]
    words = " ".join([first, *classes]).lower()
    return next((plain for word, plain in PLAIN.items() if word in words), "unknown")


def rows() -> list[tuple[str, str, str]]:
    """Each package, its version and its licence."""
    return [(name, _version(name), licence_of(name)) for name in packages()]


def page(found: list[tuple[str, str, str]]) -> str:
    """How many packages have each licence."""
    counted = Counter(licence for _, _, licence in found)
    lines = [f"| {licence} | {counted[licence]} |" for licence in sorted(counted)]
    return HEAD + "\n".join(lines) + "\n"


def table(found: list[tuple[str, str, str]]) -> str:
    """The list of packages as CSV."""
    return "\n".join(map(",".join, [("package", "version", "licence"), *found])) + "\n"


def _version(name: str) -> str:
    return metadata.version(name).split("+")[0]  # without the build


if __name__ == "__main__":
    found = rows()
    WRITTEN.write_text(page(found), encoding="utf-8")
    LIST.write_text(table(found), encoding="utf-8")
