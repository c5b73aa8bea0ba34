"""Plans within HTML pages: a page that shows a plan carries its JSON, compressed.

The explorer writes such pages (`spillway export`); this module reads the plan back and runs nothing
of the page.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib

from planners.core.errors import BadInput

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
        data = unpacker.decompress(base64.b64decode(match[1]), most_bytes)
        if unpacker.unconsumed_tail:
            raise BadInput(f"the plan in the page has more than {most_bytes} bytes")
        if not unpacker.eof:
            raise BadInput("the plan in the page is cut off")
        return data.decode("utf-8")
    except (zlib.error, binascii.Error, UnicodeDecodeError) as error:
        raise BadInput(f"the plan in the page cannot be unpacked: {error}") from error
