"""Files that visitors bring: what they are, by their content, and where they are kept.

A file is kept under the hash of its content, so that a link finds it again after a restart, on this
server alone. Where the user's cache cannot be written, it is kept among temporary files.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

import planners as sp
from app.model.events import file_kept
from app.model.settings import UPLOADS, UPLOADS_DAYS
from planners.allocation.csv_io import COLUMNS
from planners.audits.readers.pte import SIGN as PTE_SIGN
from planners.audits.readers.pte import SIGN_AT as PTE_SIGN_AT
from planners.audits.readers.vela import SIGN as VELA_SIGN
from planners.audits.readers.xla import SIGN as XLA_SIGN
from planners.catalogue.cache import directory
from planners.core.files import is_page
from planners.core.units import format_bytes
from planners.core.worker_process import shared_temporary
from planners.importers.registry import FORMATS, format_of, format_of_text, hinted, signed, titles

PLANS = {"csv": 16 * 2**20, "pte": 2**28, "txt": 16 * 2**20}
"""Other tools' plans: a table with addresses, ExecuTorch's programs, Vela's listings."""
MOST_BYTES = {"json": 64 * 2**20, "html": 64 * 2**20} | {f.kind: f.most_bytes for f in FORMATS}
MOST_BYTES |= PLANS
LARGEST = max(MOST_BYTES.values())
NO_ROOM = "The server has no room for more files: try again in a minute."
YOUNG_S = 60.0  # a file used so recently is not removed: somebody waits for what is in it
TOKEN = re.compile(rf"[0-9a-f]{{64}}\.({'|'.join(MOST_BYTES)})")
TWO_FILES = (
    "XLA's plan is in two files, side by side: spillway audit …-buffer-assignment.txt --as-plan "
    "plan.json --better-as-plan ours.json audits them; plan.json can be dropped here."
)
XLA_LIVE = "HloLiveRange"
OTHERS = "another tool's plan (ExecuTorch's .pte, Vela's listing, .csv)"
KNOWN = f"a plan or graph (.json), a plan's page (.html), {titles()}, {OTHERS}"


def kind_of(name: str, data: bytes) -> str:
    """What a file is: json, html, or the kind of a model format. Raises `BadInput` if none of
    these."""
    if not data:
        raise sp.BadInput(f"{name} is empty.")
    if sure := signed(data):
        return sure.kind
    if data[:1] == b"\x80" or data[:4] == b"\x1f\x8b\x08\x00":
        what = "a pickle" if data[:1] == b"\x80" else "compressed"
        raise sp.BadInput(f"{name} is {what}, which cannot be read here. Drop {KNOWN}.")
    if data.startswith(PTE_SIGN, PTE_SIGN_AT):
        return "pte"
    named = format_of(name.lower())
    if named and named.is_text is None:
        return named.kind
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = ""
    if not text.strip() or "\0" in text:
        if likely := hinted(data):
            return likely.kind
        raise sp.BadInput(f"{name} is neither UTF-8 text nor a known format. Drop {KNOWN}.")
    if is_page(text):
        return "html"
    if VELA_SIGN in text:
        return "txt"
    if text.startswith((XLA_SIGN, XLA_LIVE)):
        raise sp.BadInput(TWO_FILES)
    if set(COLUMNS) <= {cell.strip() for cell in text.split("\n", 1)[0].split(",")}:
        return "csv"
    if format_known := named or format_of_text(text):
        return format_known.kind
    if name.lower().endswith(".csv"):
        columns = ",".join(COLUMNS)
        raise sp.BadInput(
            f"{name} has no known columns: an allocation has {columns}[,offset]; times of "
            "layers have layer,kernel_s, or those of their profiler."
        )
    if text.lstrip()[:1] not in "{[" and not name.lower().endswith(".json"):
        raise sp.BadInput(f"{name} is text in an unknown format. Drop {KNOWN}.")
    return "json"


def folder() -> Path:
    """Where uploads are kept; the same for the server and its workers."""
    place = directory() / "uploads"
    with contextlib.suppress(OSError):
        place.mkdir(parents=True, exist_ok=True)
        if os.access(place, os.W_OK):
            return place
    return _own(shared_temporary() / f"spillway-uploads-{os.getuid()}")


def _own(place: Path) -> Path:
    """A folder among temporary files that is this user's alone. Raises `BadInput` where somebody
    else made it first, or may write to it."""
    try:
        place.mkdir(mode=0o700, exist_ok=True)
        status = os.lstat(place)
    except OSError as error:
        raise sp.BadInput(f"Files cannot be kept in {place}: {error.strerror}.") from error
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o022:
        raise sp.BadInput(f"Files are not kept in {place}: others can write to it.")
    return place


def keep(name: str, data: bytes) -> str:
    """Keep a file; returns its token. Raises `BadInput` if unrecognised, too large, or not
    writable."""
    if len(data) > LARGEST:
        raise sp.BadInput(too_large(LARGEST))
    kind = kind_of(name, data)
    if len(data) > MOST_BYTES[kind]:
        raise sp.BadInput(too_large(MOST_BYTES[kind]))
    token, place = f"{hashlib.sha256(data).hexdigest()}.{kind}", folder()
    try:
        _make_room(place, len(data))
        handle, written = tempfile.mkstemp(dir=place, prefix=".writing-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(written, place / token)
        except BaseException:
            os.unlink(written)
            raise
    except OSError as error:
        raise sp.BadInput(f"The file cannot be kept in {place}: {error.strerror}.") from error
    file_kept(kind, len(data))
    return token


def too_large(most: int) -> str:
    """One line for a file that exceeds the size limit."""
    return f"The file is larger than {format_bytes(most)}: load it in a notebook."


def path_of(token: str) -> Path:
    """The file of a token. Raises `BadInput` where there is none."""
    path = folder() / token
    if not TOKEN.fullmatch(token) or not path.is_file():
        raise sp.BadInput("The uploaded file is no longer on this server: upload it again.")
    with contextlib.suppress(OSError):
        os.utime(path)
    return path


def there(token: str) -> bool:
    """Whether a token's file is on this server."""
    try:
        return bool(path_of(token))
    except sp.BadInput:
        return False


def forget(tokens: Iterable[str]) -> int:
    """Remove the files of these tokens; how many there were."""
    gone, place = 0, folder()
    for token in filter(TOKEN.fullmatch, set(tokens)):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(place / token)
            gone += 1
    return gone


def forget_old(now_s: float | None = None) -> int:
    """Remove files that nobody has used for so many days; how many there were."""
    oldest = (time.time() if now_s is None else now_s) - UPLOADS_DAYS.value * 86_400
    return forget(Path(path).name for used, _, path in _files(folder()) if used < oldest)


def held() -> list[str]:
    """The tokens of all files that are kept."""
    return [name for _, _, path in _files(folder()) if TOKEN.fullmatch(name := Path(path).name)]


def held_bytes() -> int:
    """Bytes of all files that are kept."""
    return sum(size for _, size, _ in _files(folder()))


def _files(place: Path) -> list[tuple[float, int, str]]:
    """When each was used last, its bytes and its path; what was used longest ago comes first."""
    files = []
    with contextlib.suppress(OSError):
        for entry in os.scandir(place):
            with contextlib.suppress(FileNotFoundError):
                files.append((entry.stat().st_mtime, entry.stat().st_size, entry.path))
    return sorted(files)


def _make_room(place: Path, size_bytes: int) -> None:
    """Remove the files used longest ago until there is room for one of that size.

    Raises `BadInput` where all that is left was used within a minute.
    """
    files = _files(place)
    total_bytes = size_bytes + sum(size for _, size, _ in files)
    for used, size, path in files:
        if total_bytes <= UPLOADS.value:
            return
        if abs(time.time() - used) < YOUNG_S:  # the clock may have been set back since
            raise sp.BadInput(NO_ROOM)
        with contextlib.suppress(OSError):
            os.unlink(path)
        total_bytes -= size
