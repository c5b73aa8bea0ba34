"""Components whose script the browser takes as it is.

Panel has the browser translate each from TypeScript, which takes ten milliseconds a component; ours
are plain JavaScript. A name derived from its content marks the script as compiled, and lets equal
scripts be loaded once.
"""

from __future__ import annotations

import re
from functools import cache
from hashlib import sha256
from typing import Any

import panel as pn


class Component(pn.custom.JSComponent):
    """The base class of all our components."""

    __abstract = True

    def _get_properties(self, doc: Any) -> dict[str, Any]:
        properties: dict[str, Any] = super()._get_properties(doc)
        script = flat(properties["esm"])
        return {**properties, "esm": script, "bundle": named(script)}


@cache
def flat(script: str) -> str:
    """A script without indentation and comments, which only people need."""
    return re.sub(r"^ *//.*\n|^ +|  // .*$", "", script, flags=re.MULTILINE)


@cache
def named(script: str) -> str:
    """A name for a script, unique to its content."""
    return sha256(script.encode()).hexdigest()
