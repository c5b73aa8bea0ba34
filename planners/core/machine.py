"""Machines as data: memories, engines, arithmetic; the presets are TOML files with sources."""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planners.core.compute_maps import (
    ALL_IN_TURN,
    ComputeMap,
    ComputePorts,
    check_compute,
    maps_of,
    ports_of,
    rates_of,
)
from planners.core.errors import BadInput, UnknownName
from planners.core.files import read_bounded
from planners.core.reading_limits import parsed_json, parsed_toml

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable


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
    `shares` names the engine whose transfers this one takes a part of: each goes to the one that
    is done with it first.
    """

    name: str
    bytes_per_s: float
    latency_s: float = 0.0
    shares: str = ""


@dataclass(frozen=True)
class Machine:
    """What a program runs on. Every field has its unit in its name and its source in `sources`.

    `macs_per_s` at the precision `bits_per_mac`; `mac_pj` the energy of one. `onchip` names the
    memory that a budget replaces, `offchip` the one where graph inputs and outputs live, and
    `parameters` the one where parameters live. `slower` names memories that tensors may lie in
    too, behind `onchip`, each no faster than the one before. `compute_maps`, `compute_rates` and
    `compute_ports` say how its array takes operators (`planners.core.compute_maps`). It leaks
    `leakage_w` watts as long as it runs. `seconds_band` are the least and the most that its seconds
    were of those of what judged them, which `sources` names: of an unknown judge it is empty, and
    two machines that differ in it alone are equal. `sources` is keyed by field: `clock_hz`,
    `scratchpad.size_bytes`, `compute_rates.default`. Raises `BadInput` naming the field where a
    value makes no sense.
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
    sources: Mapping[str, str] = field(default_factory=dict, hash=False)
    slower: tuple[str, ...] = ()
    compute_maps: tuple[ComputeMap, ...] = ()
    compute_rates: Mapping[str, float] = field(default_factory=dict, hash=False)
    compute_ports: ComputePorts = ALL_IN_TURN
    leakage_w: float = 0.0
    seconds_band: tuple[float, ...] = field(default=(), compare=False)

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

    @property
    def is_ideal(self) -> bool:
        """Whether every operator runs at the full MAC rate: nothing says how an array takes it."""
        return not self.compute_maps and not self.compute_rates

    def between_s(self, seconds: float) -> tuple[float, float]:
        """From when until when a time may be of the machine's judge; the time twice without one."""
        least, most = self.seconds_band or (1.0, 1.0)
        return seconds / most, seconds / least

    @property
    def judge(self) -> str:
        """What judged its seconds; files may say anything, of which a line is told."""
        band = self.sources.get("seconds_band", "").removeprefix("(measured) ")
        return band if band and band.isprintable() and len(band) <= 300 else "its machine file"

    def tells_apart(self, seconds: float, other_s: float) -> bool:
        """Whether two times differ by more than the machine's were from their judge."""
        least, most = sorted((seconds, other_s))
        return self.between_s(least)[1] < self.between_s(most)[0]

    @property
    def at_full_rate(self) -> Machine:
        """The same machine where every operator runs at the full MAC rate, without a setup, as the
        papers' models have it: what its array costs is the difference."""
        engines = tuple(
            replace(engine, latency_s=0.0) if engine.name == "compute" else engine
            for engine in self.engines
        )
        plain: dict[str, Any] = {"sources": {}, "seconds_band": (), "engines": engines}
        return replace(self, compute_maps=(), compute_rates={}, compute_ports=ALL_IN_TURN, **plain)

    @property
    def without_effect(self) -> tuple[str, ...]:
        """Numbers of the machine that nothing is computed from: they are there for readers."""
        clock = () if self.compute_maps or self.compute_rates else ("clock_hz",)
        return (*clock, "bits_per_mac", "compute.bytes_per_s")

    @property
    def banks(self) -> tuple[MemoryLevel, ...]:
        """The memories that tensors may lie in, the fastest first: most machines have one."""
        return tuple(self.memory(name) for name in (self.onchip, *self.slower))

    def numbers(self) -> dict[str, float]:
        """Every quantity by the name that `sources` has for it."""
        quantities: dict[str, float] = {name: getattr(self, name) for name in _QUANTITIES}
        if self.leakage_w:
            quantities["leakage_w"] = self.leakage_w
        items: tuple[MemoryLevel | Engine, ...] = (*self.memories, *self.engines)
        for item in items:
            for name, value in asdict(item).items():
                if name not in ("name", "shares"):
                    quantities[f"{item.name}.{name}"] = value
        quantities |= {f"compute_rates.{name}": rate for name, rate in self.compute_rates.items()}
        return quantities

    def to_json(self) -> dict[str, Any]:
        """Plain data that `from_json` reads."""
        data = asdict(self)
        for engine in data["engines"]:
            if not engine["shares"]:
                del engine["shares"]
        for name in _WHERE_SAID:
            if not data[name] or getattr(self, name) == ALL_IN_TURN:
                del data[name]
        return data

    def to_toml(self) -> str:
        """The text of a machine file, as the presets are written."""
        return _to_toml(self.to_json())

    @staticmethod
    def from_json(data: Any) -> Machine:
        """A machine from plain data (TOML or JSON). Raises `BadInput` naming the field."""
        if not isinstance(data, dict):
            raise BadInput("a machine is a table of fields")
        values = dict(data)
        for name, kind in (("memories", MemoryLevel), ("engines", Engine)):
            if name in values:
                values[name] = _tables(kind, values[name], name)
        if "slower" in values:
            values["slower"] = _names(values["slower"], "slower")
        for name, read in _COMPUTE.items():
            if name in values:
                values[name] = read(values[name])
        machine: Machine = _build(Machine, values, "machine")
        return machine


_WHERE_SAID = (
    "leakage_w",
    "slower",
    "compute_maps",
    "compute_rates",
    "compute_ports",
    "seconds_band",
)
_COMPUTE: Mapping[str, Callable[[Any], Any]] = {
    "compute_maps": maps_of,
    "compute_rates": rates_of,
    "compute_ports": ports_of,
    "seconds_band": lambda items: tuple(items) if isinstance(items, list) else items,
}
_SAID_AS_A_WHOLE = ("compute_maps", "compute_ports", "seconds_band")
_QUANTITIES = ("clock_hz", "macs_per_s", "bits_per_mac", "mac_pj")
_ENGINES = ("compute", "dma_in", "dma_out")
_TYPES: Mapping[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "str": (str,)}


def _tables(kind: type[Any], items: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(items, (list, tuple)) or not items:
        raise BadInput(f"machine: {where} must be a non-empty list of tables")
    return tuple(_build(kind, item, f"{where}[{i}]") for i, item in enumerate(items))


def _names(items: Any, where: str) -> tuple[str, ...]:
    if not isinstance(items, (list, tuple)) or not all(isinstance(name, str) for name in items):
        raise BadInput(f"machine: {where} must be a list of names, not {items!r:.80}")
    return tuple(items)


def _build(kind: type[Any], values: Any, where: str) -> Any:
    """An instance of a dataclass from a table: unknown, missing and mistyped fields are named."""
    if not isinstance(values, dict):
        raise BadInput(f"{where}: expected a table of fields, not {values!r}")
    field_by_name = {f.name: f for f in fields(kind)}
    for name in values:
        if name not in field_by_name:
            near = difflib.get_close_matches(name, field_by_name, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise BadInput(f"{where}: unknown field {name!r}{hint}")
    for name, spec in field_by_name.items():
        if name in values:
            _check_type(values[name], str(spec.type), f"{where}: {name}")
        elif spec.default is MISSING and spec.default_factory is MISSING:
            raise BadInput(f"{where}: field {name!r} is missing")
    return kind(**values)


def _check_type(value: Any, kind: str, what: str) -> None:
    if kind in _TYPES:
        if not isinstance(value, _TYPES[kind]) or isinstance(value, bool):
            raise BadInput(f"{what} must be of type {kind}, not {value!r}")
    elif kind == "Mapping[str, str]":
        texts = isinstance(value, dict) and all(isinstance(v, str) for v in value.values())
        if not texts:
            raise BadInput(f"{what} must be a table of texts, not {value!r}")


def _validate(machine: Machine) -> None:
    def fail(reason: str) -> None:
        raise BadInput(f"machine {machine.name!r}: {reason}")

    for what in ("memories", "engines"):
        names = [item.name for item in getattr(machine, what)]
        for name in names:
            if names.count(name) > 1:
                fail(f"two {what} share a name: {name!r:.80}")
    for role in ("onchip", "offchip", "parameters"):
        if getattr(machine, role) not in {level.name for level in machine.memories}:
            fail(f"{role} names no memory: {getattr(machine, role)!r}")
    _check_slower(machine, fail)
    for name in _ENGINES:
        if name not in {engine.name for engine in machine.engines}:
            fail(f"engine {name!r} is missing")
    kinds = {engine.name: engine.shares for engine in machine.engines}
    for name, shared in kinds.items():
        if shared and (shared == "compute" or kinds.get(shared) != ""):
            fail(
                f"engine {name!r} shares {shared!r}, which is not an engine that moves bytes itself"
            )
        if shared and name in (*_ENGINES, "storage", "copy"):
            fail(f"engine {name!r} has transfers of its own and shares none")
    numbers = machine.numbers()
    bounded = [f"{name}.size_bytes" for name in (machine.onchip, *machine.slower)]
    for name, value in numbers.items():
        # Written so that NaN fails; the bound keeps integers of any length convertible to float.
        if not 0 <= value < 1e30:
            fail(f"{name} must be a finite number, zero or above, not {value!r}")
        may_be_zero = name.endswith(("_pj", "_pj_per_byte", ".latency_s", ".size_bytes"))
        if value == 0 and (name in bounded or not may_be_zero):
            fail(f"{name} must be above zero")
    if band := machine.seconds_band:
        numbers_of_it = isinstance(band, tuple) and all(type(n) in (int, float) for n in band)
        if not numbers_of_it or len(band) != 2 or not 0 < band[0] <= band[1] < 1e6:
            fail(f"seconds_band must be two shares, the least and the most, not {band!r:.60}")
        if machine.sources and "seconds_band" not in machine.sources:
            fail("sources: seconds_band is missing: what judged the machine's seconds")
    levels = {level.name for level in machine.memories}
    check_compute(machine.compute_maps, machine.compute_rates, machine.compute_ports, levels, fail)
    for name in machine.sources:
        if name not in numbers and name not in _SAID_AS_A_WHOLE:
            near = difflib.get_close_matches(name, numbers, 1)
            meant = f"; did you mean {near[0]!r}?" if near else ""
            fail(f"sources: unknown field {name!r:.80}{meant}")


def _check_slower(machine: Machine, fail: Callable[[str], None]) -> None:
    """The memories behind the fastest are memories of their own, each no faster than the last."""
    before = machine.onchip
    names = {level.name for level in machine.memories}
    taken = {machine.parameters: "parameters", machine.offchip: "offchip", machine.onchip: "onchip"}
    for name in machine.slower:
        if name not in names:
            fail(f"slower names no memory: {name!r:.80}")
        if name in taken:
            fail(f"slower: {name!r:.80} is named as {taken[name]} already")
        taken[name] = "slower"
        one, other = machine.memory(before), machine.memory(name)
        for rate in ("read_bytes_per_s", "write_bytes_per_s"):
            if getattr(other, rate) > getattr(one, rate):
                fail(f"slower: {name!r:.80} comes after {before!r:.80}, but its {rate} is higher")
        before = name


def _to_toml(table: Mapping[str, Any]) -> str:
    """TOML for a table of scalars, one level of tables and lists of tables."""

    def quote(text: str) -> str:
        # A TOML basic string is a JSON string that escapes DEL as well.
        return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")

    def written(value: Any) -> str:
        if isinstance(value, (list, tuple)):
            return f"[{', '.join(map(written, value))}]"
        return quote(value) if isinstance(value, str) else repr(value)

    def pairs(items: Mapping[str, Any]) -> list[str]:
        return [
            f"{key if key.isidentifier() and key.isascii() else quote(key)} = " + written(value)
            for key, value in items.items()
        ]

    def flat(value: Any) -> bool:
        tables = isinstance(value, (list, tuple)) and any(isinstance(each, dict) for each in value)
        return not tables and not isinstance(value, dict)

    scalars = {k: v for k, v in table.items() if flat(v)}
    lines = pairs(scalars)
    for name, value in table.items():
        if isinstance(value, dict):
            lines += ["", f"[{name}]", *pairs(value)]
        elif name not in scalars:
            for item in value:
                lines += ["", f"[[{name}]]", *pairs(item)]
    return "\n".join(lines) + "\n"


@cache
def presets() -> Mapping[str, Machine]:
    """All machines that come with Spillway, by name."""
    files = [file.name for file in _shipped().iterdir()]
    names = sorted(name.removesuffix(".toml") for name in files if name.endswith(".toml"))
    return {name: _preset(name) for name in names}


@cache
def _preset(name: str) -> Machine:
    """The machine of a file that comes with Spillway, whose name it has."""
    text = (_shipped() / f"{name}.toml").read_text(encoding="utf-8")
    return Machine.from_json(tomllib.loads(text))


def _shipped() -> Traversable:
    return resources.files("planners") / "machines"


def load_machine(machine: str | Path | Machine) -> Machine:
    """A machine by preset name or from a `.toml` or `.json` file.

    Raises `UnknownName` with the nearest presets, or `BadInput` naming the field at fault.
    """
    if isinstance(machine, Machine):
        return machine
    name = str(machine)
    if name.isidentifier() and (_shipped() / f"{name}.toml").is_file():
        return _preset(name)
    path = Path(name)
    if path.suffix not in (".toml", ".json"):
        nearest = difflib.get_close_matches(name, presets(), 3)
        raise UnknownName("machine", name, nearest, "or give a .toml or .json file")
    try:
        text = read_bounded(path).decode("utf-8")
        data = parsed_toml(text, path) if path.suffix == ".toml" else parsed_json(text, path)
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path} is malformed: {error}") from error
    try:
        return Machine.from_json(data)
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from error


def with_scratchpad(machine: Machine, size_bytes: int) -> Machine:
    """The machine with another size of its on-chip memory: a budget replaces the preset's."""
    memories = tuple(
        replace(level, size_bytes=size_bytes) if level.name == machine.onchip else level
        for level in machine.memories
    )
    size = f"{machine.onchip}.size_bytes"
    sources = {**machine.sources, size: "the budget"} if machine.sources else {}
    return replace(machine, memories=memories, sources=sources)


_ROLES = ("title", "onchip", "offchip", "parameters", "slower", "compute_maps", "compute_ports")
_WHOLE = ("bits_per_mac", ".size_bytes")


def _number(name: str, value: Any) -> float:
    """A value of the type that a number has. Raises `BadInput` for what is no such number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise BadInput(f"{name} must be a number, not {value!r:.40}")
    if not name.endswith(_WHOLE):
        if not abs(value) < 1e30:  # NaN too, and integers too long for a float
            raise BadInput(f"{name} must be a finite number, zero or above, not {value!r:.40}")
        return float(value)
    if not abs(value) < 1e30 or int(value) != value:
        raise BadInput(f"{name} must be a whole number, not {value!r:.40}")
    return int(value)


def _with_parts(item: Any, parts: Mapping[str, dict[str, Any]]) -> Any:
    """A memory or an engine with the fields that are given for its name.

    A memory and an engine may share a name: each takes what it has.
    """
    names = {f.name for f in fields(item)}
    return replace(item, **{k: v for k, v in parts.get(item.name, {}).items() if k in names})


def with_numbers(machine: str | Machine, numbers: Mapping[str, float]) -> Machine:
    """A machine, or a preset by name, with other numbers, by the names that `Machine.numbers` has.

    Units are in the names. Raises `UnknownName` with the nearest names, and `BadInput` naming the
    number that makes no sense.

    >>> with_numbers("npu_small", {"host.read_bytes_per_s": 4e9}).memory("host").read_bytes_per_s
    4000000000.0
    """
    machine = load_machine(machine)
    numbers_before, sources = machine.numbers(), dict(machine.sources)
    parts: dict[str, dict[str, Any]] = {}
    for name, value in numbers.items():
        if name not in numbers_before:
            nearest = difflib.get_close_matches(name, numbers_before, 3)
            raise UnknownName(f"number of machine {machine.name!r}:", name, nearest)
        item, _, field_name = name.rpartition(".")
        parts.setdefault(item, {})[field_name] = _number(name, value)
        if sources:
            sources[name] = f"given, in place of {numbers_before[name]:g}"
    levels, engines = (
        tuple(_with_parts(item, parts) for item in items)
        for items in (machine.memories, machine.engines)
    )
    rates = {**machine.compute_rates, **parts.get("compute_rates", {})}
    changes: dict[str, Any] = {"memories": levels, "engines": engines, "compute_rates": rates}
    if any(not name.endswith(".size_bytes") for name in numbers):  # No longer what was judged.
        changes["seconds_band"] = ()
        sources.pop("seconds_band", None)
    return replace(machine, **changes, sources=sources, **parts.get("", {}))


_RENAMED = {"npu_small": "npu_ideal"}
"""Presets that have another name today, as files of before hold them: the first had no array."""


def preset_name(machine: Machine) -> str:
    """The name that a machine's preset has today."""
    return _RENAMED.get(machine.name, machine.name) if machine.is_ideal else machine.name


def changed_numbers(machine: Machine) -> dict[str, float] | None:
    """The numbers in which a machine differs from the preset of its name, but for what a budget
    replaces; None where no numbers make it of that preset.
    """
    preset = presets().get(preset_name(machine))
    if preset is None or preset.numbers().keys() != machine.numbers().keys():
        return None
    roles = _ROLES if preset.name == machine.name else _ROLES[1:]  # a title changes with its name
    if any(getattr(preset, role) != getattr(machine, role) for role in roles):
        return None
    ours, bounded = preset.numbers(), f"{machine.onchip}.size_bytes"
    return {k: v for k, v in machine.numbers().items() if v != ours[k] and k != bounded}
