"""Files, written whole or not at all, and JSON in them, read with exact errors."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

from planners.core.errors import BadInput
from planners.core.pages import is_page, plan_text_in

MOST_TEXT = 512 * 2**20
"""Bytes of a text that are read: a file that never ends, as `/dev/zero`, is no file for us."""


def read_json(path: str | Path) -> Any:
    """The JSON in a file. Raises `BadInput` where it cannot be read or parsed."""
    return _parsed(path, _text(path))


def read_plan_json(path: str | Path) -> Any:
    """The same of a plan, which may be in an HTML page that shows it."""
    text = _text(path)
    return _parsed(path, plan_text_in(text) if is_page(text) else text)


def _text(path: str | Path) -> str:
    try:
        return read_bounded(path).decode("utf-8")
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is not JSON: {error}") from error


def read_bounded(path: str | os.PathLike[str], most: int = MOST_TEXT) -> bytes:
    """The bytes of a file. Raises `OSError` where it cannot be read, or has more than `most`."""
    with Path(path).open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes")
    return data


def _parsed(path: str | Path, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path} is not JSON: {error}") from error


def write_json(path: str | Path, data: Any) -> None:
    """Write JSON; the file is replaced whole or not at all. Raises `BadInput` where it cannot."""
    write_text(path, json.dumps(data, separators=(",", ":")))


def write_text(path: str | Path, text: str) -> None:
    """Write text as `write_bytes` does."""
    write_bytes(path, text.encode())


def write_bytes(path: str | Path, data: bytes) -> None:
    """Write beside `path` and move it into place. Raises `BadInput` where it cannot.

    A link leads to the file that is replaced, which keeps its mode; a pipe or a device is written
    to as it is.
    """
    import tempfile

    try:
        target = Path(path)
        if target.exists() and not target.is_file():
            target.write_bytes(data)
            return
        target = target.resolve()
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o644
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.chmod(name, mode)
            os.replace(name, target)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        raise BadInput(f"cannot write {path}: {error.strerror}") from error
