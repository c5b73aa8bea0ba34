"""What sources a kept result was made by: a hash of files, their places and their texts."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from pathlib import Path


def source_hash(root: Path, folders: Iterable[str], suffixes: Collection[str]) -> str:
    """A hash of the files below folders of `root` that have one of the suffixes, as hex digits."""
    digest = hashlib.sha256()
    files = {file for folder in folders for file in (root / folder).rglob("*")}
    for file in sorted(file for file in files if file.suffix in suffixes and file.is_file()):
        digest.update(f"{file.relative_to(root)} {file.stat().st_size}\n".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()
