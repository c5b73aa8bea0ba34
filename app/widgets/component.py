"""Components whose script the browser takes as it is.

Panel has the browser translate each from TypeScript, ten milliseconds a component; ours are plain
JavaScript. A name of its content tells it that the script is ready, and that equal ones are one.
"""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from typing import Any

import panel as pn


class Component(pn.custom.JSComponent):
    """What all components of ours are."""

    __abstract = True

    def _get_properties(self, doc: Any) -> dict[str, Any]:
        properties: dict[str, Any] = super()._get_properties(doc)
        return {**properties, "bundle": named(properties["esm"])}


@cache
def named(script: str) -> str:
    """A name for a script that no other has."""
    return sha256(script.encode()).hexdigest()
