"""A folder of generated files, which takes nobody else's files away."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from planners.backends.c.model import generate
from planners.backends.int8.net import QNet
from planners.core.details.pool import PoolLayout
from planners.core.errors import BadInput

MANIFEST = ".spillway.json"
"""The file that lists what was written into its folder: names, and digests of their content."""

UNITS = ("main", "model", "kernels", "weights")
PRODUCTS = {"model", "model-asan", *(f"{unit}.{end}" for unit in UNITS for end in ("o", "su"))}
"""What `make` builds beside the files, and `arm/` with objects."""


def write_code(net: QNet, layout: PoolLayout, folder: str | Path) -> list[str]:
    """Write the C files of a network into a folder, in place of what was written there before.

    Returns the names of the files. Raises `BadInput` where the network cannot be C code, the
    folder has something else in it, or it cannot be written; then it is as it was.
    """
    texts = generate(net, layout)
    replace_folder(folder, texts)
    return sorted(texts)


def replace_folder(folder: str | Path, texts: Mapping[str, str]) -> None:
    """Make `folder` hold exactly these files, and a list of them.

    It may be new or empty, or hold nothing but files of an earlier call, as they were written,
    and what `make` built of them. Raises `BadInput` for any other, and leaves it as it is.
    """
    target = Path(folder)
    is_new = not os.path.lexists(target)
    try:
        target.mkdir(parents=True, exist_ok=True)
        stale = _earlier(target)
        try:
            _move_in(target, {**texts, MANIFEST: _manifest(texts)}, stale)
        except BaseException:
            if is_new:
                with suppress(OSError):
                    target.rmdir()
            raise
    except FileExistsError as error:
        raise BadInput(f"{folder} is a file: name a new or an empty folder") from error
    except OSError as error:
        raise BadInput(f"cannot write {folder}: {error.strerror}") from error


def _earlier(folder: Path) -> list[Path]:
    """The entries of a folder, all of an earlier call. Raises `BadInput` where one is not."""
    entries = sorted(folder.iterdir())
    if not entries:
        return []
    digests = _listed(folder / MANIFEST)
    for entry in entries:
        why = _foreign(entry, digests)
        if why:
            raise BadInput(
                f"{folder} is not touched: {entry.name!r:.80} in it {why}; name a new or an empty "
                "folder"
            )
    return entries


def _foreign(entry: Path, digests: Mapping[str, str]) -> str:
    """Why an entry is not to be replaced; empty where it is of an earlier call."""
    if not digests:
        return "was not written by spillway code"
    if entry.name == "arm" and entry.is_dir() and not entry.is_symlink():
        ours = all(e.is_file() and e.name in PRODUCTS for e in entry.iterdir())
        return "" if ours else "holds more than make builds"
    if entry.is_symlink() or not entry.is_file():
        return "was not written by spillway code"
    if entry.name == MANIFEST or entry.name in PRODUCTS:
        return ""
    if entry.name not in digests:
        return "was not written by spillway code"
    return "" if _digest(entry.read_bytes()) == digests[entry.name] else "was changed since"


def _listed(manifest: Path) -> dict[str, str]:
    """The names and digests that a manifest lists; none where it is none of ours."""
    if manifest.is_symlink() or not manifest.is_file():
        return {}
    try:
        files = json.loads(manifest.read_text("utf-8"))["files"]
    except (ValueError, KeyError, TypeError):
        return {}
    return files if isinstance(files, dict) else {}


def _manifest(texts: Mapping[str, str]) -> str:
    files = {name: _digest(text.encode()) for name, text in sorted(texts.items())}
    return json.dumps({"written_by": "spillway code", "files": files}, indent=1) + "\n"


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _move_in(target: Path, texts: Mapping[str, str], stale: list[Path]) -> None:
    """Write all files aside, then remove the earlier ones and move these to their places."""
    aside = Path(tempfile.mkdtemp(dir=target, prefix=".writing."))
    try:
        for name, text in texts.items():
            (aside / name).write_bytes(text.encode())
        for entry in stale:
            if entry.name not in texts:
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        for name in texts:
            os.replace(aside / name, target / name)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
