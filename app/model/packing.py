"""Long texts, compressed."""

from __future__ import annotations

import base64
import zlib


def packed(text: str) -> str:
    """A text compressed for a JSON message."""
    return base64.b85encode(zlib.compress(text.encode(), 1)).decode()


def unpacked(text: str) -> str:
    """What `packed` was given."""
    return zlib.decompress(base64.b85decode(text)).decode()
