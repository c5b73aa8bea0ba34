"""A folder of generated files, written whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from planners.backends.c.model import generate
from planners.backends.int8.net import QNet
from planners.core.details.pool import PoolLayout
from planners.core.errors import BadInput

MARK = "model.h"
"""A folder that has this file is one that was written before."""


def write_code(net: QNet, layout: PoolLayout, folder: str | Path) -> list[str]:
    """Write the C files of a network into a folder, in place of what was written there before.

    Returns the names of the files. Raises `BadInput` where the network cannot be C code, the
    folder has something else in it, or it cannot be written; then it is as it was.
    """
    texts = generate(net, layout)
    replace_folder(folder, texts)
    return sorted(texts)


def replace_folder(folder: str | Path, texts: Mapping[str, str]) -> None:
    """Make `folder` hold exactly these files. Raises `BadInput` where it must not or cannot."""
    target = Path(folder)
    try:
        if target.exists() and (not target.is_dir() or _foreign(target)):
            raise BadInput(f"{folder} is not a folder of generated code: name a new one")
        target.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
        try:
            for name, text in texts.items():
                (made / name).write_text(text, encoding="utf-8")
            made.chmod(0o755)
            _swap(made, target)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    except OSError as error:
        raise BadInput(f"cannot write {folder}: {error.strerror}") from error


def _foreign(folder: Path) -> bool:
    names = os.listdir(folder)
    return bool(names) and MARK not in names


def _swap(made: Path, target: Path) -> None:
    """Put a folder in the place of another; the other is back where that fails."""
    if not target.exists():
        made.rename(target)
        return
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as aside:
        old = Path(aside) / "old"
        target.rename(old)
        try:
            made.rename(target)
        except OSError:
            old.rename(target)
            raise
