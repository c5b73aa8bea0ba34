"""A machine that a visitor brings as a file: a preset with other numbers. No Panel here."""

from __future__ import annotations

import json
from typing import Any

import planners as sp
from app.model.machines import fields_text
from planners.core.machine import Machine, changed_numbers, preset_name
from planners.core.reading_limits import parsed_toml

MOST_BYTES = 64 * 2**10
OTHER = (
    "{} has other memories or engines than any preset, and this page changes numbers of presets:"
    " use it with spillway plan --machine"
)


def is_machine(name: str, content: bytes) -> bool:
    """Whether a file is meant as a machine: by its name, or as JSON by its fields."""
    if name.lower().endswith(".toml"):
        return True
    if len(content) > MOST_BYTES or b'"macs_per_s"' not in content:
        return False
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        return False
    return isinstance(data, dict) and {"macs_per_s", "memories"} <= data.keys()


def read_machine(name: str, content: bytes) -> dict[str, Any]:
    """The fields of a problem for a machine file. Raises `BadInput` with one line."""
    if len(content) > MOST_BYTES:
        raise sp.BadInput(f"a machine file has at most {MOST_BYTES:,} bytes")
    try:
        text = content.decode("utf-8-sig")
        data = json.loads(text) if text.lstrip().startswith("{") else parsed_toml(text, name)
    except (ValueError, RecursionError) as error:
        raise sp.BadInput("the machine file is neither TOML nor JSON") from error
    machine = Machine.from_json(data)
    name = preset_name(machine)
    numbers = changed_numbers(machine) if name in sp.presets() else None
    if numbers is None:
        raise sp.BadInput(OTHER.format(f"{machine.name!r:.60}"))
    return {"machine": name, "machine_fields": fields_text(name, numbers)}
