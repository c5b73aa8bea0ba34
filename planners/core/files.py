"""Files, written whole or not at all, and JSON in them, read with exact errors."""

from __future__ import annotations

import base64
import binascii
import errno
import json
import os
import re
import zlib
from pathlib import Path
from typing import Any

from planners.core.errors import BadInput
from planners.core.reading_limits import most_unpacked, parsed_json

# ---- Plans within HTML pages: a page that shows a plan carries its JSON, compressed --------------
# The explorer writes such pages (`spillway export`); this module reads the plan back and runs
# nothing of the page.

EMBEDDED = re.compile(
    r'<script type="application/gzip" id="spillway-plan">([A-Za-z0-9+/=\s]*)</script>'
)
MOST_BYTES = 512 * 2**20
GZIP = 31  # zlib's number for a gzip header and the largest window


def is_page(text: str) -> bool:
    """Whether a text is an HTML page and no JSON."""
    return text[:200].lstrip("\ufeff \t\r\n")[:9].lower() in ("<!doctype", "<html>", "<html lan")


def plan_text_in(page: str, most_bytes: int = MOST_BYTES) -> str:
    """The JSON text of the plan that a page carries.

    Raises `BadInput` where it carries none, a broken one, or one of more than `most_bytes`.
    """
    match = EMBEDDED.search(page)
    if match is None or not match[1].strip():
        raise BadInput("the page carries no plan: export it again, or load the plan's JSON")
    unpacker = zlib.decompressobj(GZIP)
    try:
        packed = base64.b64decode(match[1])
        most_bytes = most_unpacked(len(packed), most_bytes)
        data = unpacker.decompress(packed, most_bytes)
        if unpacker.unconsumed_tail:
            raise BadInput(f"the plan in the page has more than {most_bytes} bytes")
        if not unpacker.eof:
            raise BadInput("the plan in the page is cut off")
        return data.decode("utf-8")
    except (zlib.error, binascii.Error, UnicodeDecodeError) as error:
        raise BadInput(f"the plan in the page cannot be unpacked: {error}") from error


# --------------------------------------------------------------------------------------------------

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
        return parsed_json(text, path)
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
