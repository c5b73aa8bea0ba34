"""Machines as data: memories, engines, arithmetic; the presets are TOML files with sources."""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from planners.errors import BadInput, UnknownName


@dataclass(frozen=True, slots=True)
class MemoryLevel:
    """A memory of a machine; `size_bytes` 0 means that nothing bounds it.

    Bandwidths in bytes a second, energies in picojoules a byte.
    """

    name: str
    size_bytes: int
    read_bytes_per_s: float
    write_bytes_per_s: float
    read_pj_per_byte: float
    write_pj_per_byte: float


@dataclass(frozen=True, slots=True)
class Engine:
    """Something that runs one instruction at a time: `compute`, `dma_in`, `dma_out`, `storage`.

    A transfer takes `latency_s` plus its bytes at the slowest of the engine and both memories.
    """

    name: str
    bytes_per_s: float
    latency_s: float = 0.0


@dataclass(frozen=True)
class Machine:
    """What a program runs on. Every field has its unit in its name and its source in `sources`.

    `macs_per_s` at the precision `bits_per_mac`; `mac_pj` the energy of one. `onchip` names the
    memory that a budget replaces, `offchip` the one where graph inputs and outputs live, and
    `parameters` the one where parameters live.
    """

    name: str
    title: str
    clock_hz: float
    macs_per_s: float
    bits_per_mac: int
    mac_pj: float
    memories: tuple[MemoryLevel, ...]
    engines: tuple[Engine, ...]
    onchip: str = "scratchpad"
    offchip: str = "host"
    parameters: str = "host"
    notes: str = ""
    sources: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        _validate(self)

    def memory(self, name: str) -> MemoryLevel:
        """The memory of that name. Raises `BadInput` where the machine has none."""
        for level in self.memories:
            if level.name == name:
                return level
        raise BadInput(f"machine {self.name!r} has no memory {name!r}")

    def engine(self, name: str) -> Engine:
        """The engine of that name. Raises `BadInput` where the machine has none."""
        for engine in self.engines:
            if engine.name == name:
                return engine
        raise BadInput(f"machine {self.name!r} has no engine {name!r}")

    @property
    def scratchpad_bytes(self) -> int:
        return self.memory(self.onchip).size_bytes

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(data: Any) -> Machine:
        """A machine from plain data (TOML or JSON). Raises `BadInput` naming the field."""
        if not isinstance(data, dict):
            raise BadInput("a machine is a table of fields")
        values = dict(data)
        values["memories"] = _tables(MemoryLevel, values.get("memories"), "memories")
        values["engines"] = _tables(Engine, values.get("engines"), "engines")
        return _build(Machine, values, "machine")


def _tables(kind: type[Any], items: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(items, (list, tuple)) or not items:
        raise BadInput(f"machine: {where!r} must be a non-empty list of tables")
    return tuple(_build(kind, item, f"{where}[{i}]") for i, item in enumerate(items))


def _build(kind: type[Any], values: Any, where: str) -> Any:
    """An instance of a dataclass from a table: unknown, missing and mistyped fields are named."""
    if not isinstance(values, dict):
        raise BadInput(f"{where}: expected a table of fields")
    known = {f.name: f for f in fields(kind)}
    for name in values:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise BadInput(f"{where}: unknown field {name!r}{hint}")
    for name, spec in known.items():
        kinds = {"int": (int,), "float": (int, float), "str": (str,)}.get(str(spec.type))
        if name in values and kinds:
            value = values[name]
            if not isinstance(value, kinds) or isinstance(value, bool):
                raise BadInput(f"{where}: {name} must be of type {spec.type}, not {value!r}")
    try:
        return kind(**values)
    except TypeError as error:
        raise BadInput(f"{where}: {str(error).split('()', 1)[-1].strip()}") from error


def _validate(machine: Machine) -> None:
    def positive(value: float, what: str) -> None:
        if not value > 0 or value == float("inf"):
            raise BadInput(f"machine {machine.name!r}: {what} must be above zero, not {value!r}")

    for name in ("clock_hz", "macs_per_s", "bits_per_mac"):
        positive(getattr(machine, name), name)
    for level in machine.memories:
        positive(level.read_bytes_per_s, f"{level.name}.read_bytes_per_s")
        positive(level.write_bytes_per_s, f"{level.name}.write_bytes_per_s")
        if level.size_bytes < 0 or min(level.read_pj_per_byte, level.write_pj_per_byte) < 0:
            raise BadInput(f"machine {machine.name!r}: {level.name} has a negative field")
    for engine in machine.engines:
        positive(engine.bytes_per_s, f"{engine.name}.bytes_per_s")
        if engine.latency_s < 0:
            raise BadInput(f"machine {machine.name!r}: {engine.name}.latency_s is negative")
    for what in ("memories", "engines"):
        names = [item.name for item in getattr(machine, what)]
        if len(set(names)) != len(names):
            raise BadInput(f"machine {machine.name!r}: two {what} share a name")
    for role in (machine.onchip, machine.offchip, machine.parameters):
        machine.memory(role)
    for name in ("compute", "dma_in", "dma_out"):
        machine.engine(name)
    positive(machine.scratchpad_bytes, f"{machine.onchip}.size_bytes")


@cache
def presets() -> Mapping[str, Machine]:
    """All machines that come with Spillway, by name."""
    found = {}
    for entry in (resources.files("planners") / "machines").iterdir():
        if entry.name.endswith(".toml"):
            machine = Machine.from_json(tomllib.loads(entry.read_text(encoding="utf-8")))
            found[machine.name] = machine
    return dict(sorted(found.items()))


def load_machine(machine: str | Path | Machine) -> Machine:
    """A machine by preset name or from a `.toml` or `.json` file.

    Raises `UnknownName` with the nearest presets, or `BadInput` naming the field at fault.
    """
    if isinstance(machine, Machine):
        return machine
    name = str(machine)
    if name in presets():
        return presets()[name]
    path = Path(name)
    if path.suffix not in (".toml", ".json"):
        nearest = difflib.get_close_matches(name, presets(), 3)
        raise UnknownName("machine", name, nearest, "or give a .toml or .json file")
    try:
        text = path.read_text(encoding="utf-8")
        data = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise BadInput(f"{path} is malformed: {error}") from error
    return Machine.from_json(data)


def with_scratchpad(machine: Machine, size_bytes: int) -> Machine:
    """The machine with another size of its on-chip memory: a budget replaces the preset's."""
    memories = tuple(
        replace(level, size_bytes=size_bytes) if level.name == machine.onchip else level
        for level in machine.memories
    )
    return replace(machine, memories=memories)
