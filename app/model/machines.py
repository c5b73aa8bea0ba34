"""The numbers of a machine as a person reads and types them. No Panel here.

A machine is the name of a preset and the numbers that differ from it, in a compact text for links:
`host.read_bytes_per_s=4e9,dma_in.latency_s=2e-7`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Protocol

import planners as sp
from planners.core.machine import changed_numbers

ON_MACHINE = ("machine", "machine_fields")
"""The fields of a problem that say what it runs on."""
MOST_TYPED = 40
RATES = "compute_rates"
UNBOUNDED = "not bounded"  # of a memory, as size 0 is
ONLY_READ = ("fJ", "fJ/B", "pJ/bit", "bits")
NUMBER = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,3})?)\s*([a-zµμ/ ]*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A kind of number: its units with their factors, the usual one first, and an example.

    A number without a unit is in `base` (factor 1) if it lies between `bare_from` and `bare_to`:
    what is typed as `4` beside gigabytes does not mean bytes.
    """

    units: Mapping[str, str]
    base: str
    example: str
    bare_from: float = 0.0
    bare_to: float = 1e30


RATE = Quantity(
    {"GB/s": "1e9", "TB/s": "1e12", "MB/s": "1e6", "KB/s": "1e3", "B/s": "1"},
    "bytes a second",
    "4 GB/s",
    bare_from=1e4,
)
MACS = Quantity(
    {"GMAC/s": "1e9", "TMAC/s": "1e12", "MMAC/s": "1e6", "KMAC/s": "1e3", "MAC/s": "1"},
    "MACs a second",
    "256 GMAC/s",
    bare_from=1e4,
)
CLOCK = Quantity(
    {"GHz": "1e9", "MHz": "1e6", "kHz": "1e3", "Hz": "1"}, "hertz", "800 MHz", bare_from=1e4
)
LATENCY = Quantity(
    {"ns": "1e-9", "ps": "1e-12", "us": "1e-6", "ms": "1e-3", "s": "1"},
    "seconds",
    "200 ns",
    bare_to=0.1,
)
ENERGY = Quantity({"pJ": "1", "fJ": "1e-3", "nJ": "1e3"}, "picojoules", "0.23 pJ")
PER_BYTE = Quantity(
    {"pJ/B": "1", "fJ/B": "1e-3", "nJ/B": "1e3", "pJ/bit": "8"}, "picojoules a byte", "64 pJ/B"
)
BITS = Quantity({"bit": "1", "bits": "1"}, "bits", "8 bit")
POWER = Quantity({"W": "1", "mW": "1e-3", "uW": "1e-6"}, "watts", "5 mW")
PER_CYCLE = Quantity({"a cycle": "1"}, "elements a cycle", "16 a cycle")
SIZE = Quantity(
    {"B": "1", "KiB": "1024", "MiB": "1048576", "GiB": "1073741824", "KB": "1e3", "MB": "1e6"},
    "bytes",
    "64 MiB, or not bounded",
)
FIELDS: Mapping[str, tuple[str, Quantity]] = {
    "clock_hz": ("clock", CLOCK),
    "macs_per_s": ("MACs", MACS),
    "bits_per_mac": ("bits of a MAC", BITS),
    "mac_pj": ("energy of a MAC", ENERGY),
    "size_bytes": ("size", SIZE),
    "read_bytes_per_s": ("read", RATE),
    "write_bytes_per_s": ("write", RATE),
    "read_pj_per_byte": ("read energy", PER_BYTE),
    "write_pj_per_byte": ("write energy", PER_BYTE),
    "bytes_per_s": ("rate", RATE),
    "latency_s": ("latency", LATENCY),
    "leakage_w": ("leakage", POWER),
}
"""By the last part of a number's name: what it is called, and what kind of number it is."""


@dataclass(frozen=True, slots=True)
class MachineRow:
    """A number to be edited: `text` and `preset` with their units; `wrong` says how to correct what
    was typed, which is then in `text`."""

    name: str
    group: str
    label: str
    text: str
    preset: str
    changed: bool
    source: str
    example: str
    wrong: str = ""


def parse(name: str, typed: str) -> float:
    """The value of a number as it was typed, in the unit that its name has.

    Raises `BadInput` where there is no number, its unit is another kind's, or it needs one.

    >>> parse("host.read_bytes_per_s", "4 GB/s"), parse("dma_in.latency_s", "200 ns")
    (4000000000.0, 2e-07)
    """
    kind, text = _quantity(name), typed.strip()
    if kind is SIZE and text.lower() == UNBOUNDED:
        return 0.0
    match = NUMBER.fullmatch(text) if len(text) <= MOST_TYPED else None
    if not match:
        raise sp.BadInput(f"{text!r:.40} is not a number; write e.g. {kind.example}")
    number, unit = Decimal(match[1]), match[2].strip().replace("µ", "u").replace("μ", "u")
    if not unit:
        if number and not kind.bare_from <= number <= kind.bare_to:
            raise sp.BadInput(
                f"{text} of what? Write a unit, e.g. {kind.example}; without one it is {kind.base}"
            )
        return float(number)
    factor = _factor(kind, unit)
    if factor is None:
        units = ", ".join(kind.units)
        raise sp.BadInput(f"{match[2].strip()!r:.20} is not a unit here; write {units}")
    return float(number * factor)


def _field(name: str) -> tuple[str, Quantity]:
    """What a number is called, and what kind of number it is."""
    item, _, field = name.rpartition(".")
    return (f"outputs, {field}", PER_CYCLE) if item == RATES else FIELDS[field]


def _quantity(name: str) -> Quantity:
    return _field(name)[1]


def _factor(kind: Quantity, unit: str) -> Decimal | None:
    """The factor of a unit as written; in any case where that is unambiguous: `gb/s`, but not
    `mj`."""
    if unit in kind.units:
        return Decimal(kind.units[unit])
    near = {factor for unit_name, factor in kind.units.items() if unit_name.lower() == unit.lower()}
    return Decimal(near.pop()) if len(near) == 1 else None


def format_number(name: str, value: float) -> str:
    """A number with the unit that suits it; `parse` reads the same number back."""
    kind, exact = _quantity(name), Decimal(repr(value))
    if kind is SIZE and not exact:
        return UNBOUNDED
    usual = next(iter(kind.units))
    fitting = [u for u, f in kind.units.items() if u not in ONLY_READ and exact >= Decimal(f)]
    if kind is SIZE:  # only what is exact
        fitting = [u for u in fitting if exact % Decimal(kind.units[u]) == 0]
    if kind is BITS or not exact:
        fitting = []
    unit = max(fitting, key=lambda u: Decimal(kind.units[u]), default=usual)
    number = (exact / Decimal(kind.units[unit])).normalize()
    return f"{number:f} {unit}"


def numbers_in(machine: str, text: str) -> dict[str, float]:
    """The numbers of a preset that a compact text changes.

    Raises `SpillwayError` where the preset has no such number, or the values make no sense.
    """
    numbers: dict[str, float] = {}
    for part in filter(None, text.split(",")):
        name, _, value = part.partition("=")
        try:
            numbers[name] = float(value)
        except ValueError:
            raise sp.BadInput(f"{part!r:.60} gives no number to a field of the machine") from None
    onchip = sp.load_machine(machine).onchip
    if f"{onchip}.size_bytes" in numbers:
        raise sp.BadInput(f"the size of {onchip} is the budget")
    numbers_known = sp.with_numbers(machine, numbers).numbers()
    return {name: numbers_known[name] for name in numbers}


def fields_text(machine: str, numbers: Mapping[str, float]) -> str:
    """The compact text of numbers: those that differ from the preset's, in its order."""
    if not numbers:
        return ""
    preset = sp.load_machine(machine).numbers()
    changed = [name for name in preset if name in numbers and numbers[name] != preset[name]]
    return ",".join(f"{name}={_short(numbers[name])}" for name in changed)


def _short(value: float) -> str:
    """The shortest text that reads back as the number."""
    text = re.sub(r"e([+-])0*", r"e\1", f"{value:g}").replace("e+", "e")
    return text if float(text) == value else repr(value)


def machine_of(problem: Mapping[str, Any]) -> sp.Machine:
    """The machine of a problem: a preset with the changed numbers."""
    name, changed = problem["machine"], problem.get("machine_fields", "")
    if not changed:
        return sp.load_machine(name)
    return sp.with_numbers(name, numbers_in(name, changed))


def summary(numbers: Mapping[str, float], most: int = 2) -> str:
    """Numbers in a few words: `host.read 4 GB/s`; nothing where there are none."""
    words = [f"{_called(name)} {format_number(name, value)}" for name, value in numbers.items()]
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return ", ".join(words[:most]) + more


def summary_of(machine: str, text: str) -> str:
    """The same for a compact text; one that cannot be read stays as it is."""
    try:
        return summary(numbers_in(machine, text))
    except sp.SpillwayError:
        return text


def _called(name: str) -> str:
    item, dot, _ = name.rpartition(".")
    return ("" if item == RATES else item + dot) + _field(name)[0]


def title_of(machine: sp.Machine) -> str:
    """A machine's title, with the changes to the preset."""
    changed = changed_numbers(machine)
    return f"{machine.title} ({summary(changed)})" if changed else machine.title


def called(machine: sp.Machine) -> str:
    """A machine's name, with the changes to the preset."""
    changed = changed_numbers(machine)
    return f"{machine.name} ({summary(changed)})" if changed else machine.name


class OnMachine(Protocol):
    """A problem's machine: a preset, and the numbers that differ from it."""

    machine: str
    machine_fields: str


class MachineNumbers:
    """The numbers of a problem's machine while they are edited; what is wrong is kept as typed.

    `change` changes fields of the problem and plans it.
    """

    def __init__(self, problem: OnMachine, change: Callable[..., object]) -> None:
        self.problem, self._change = problem, change
        self._wrong: dict[str, tuple[str, str]] = {}
        self._of = problem.machine

    @property
    def changed(self) -> dict[str, float]:
        """The numbers that are changed."""
        problem = self.problem
        try:
            return numbers_in(problem.machine, problem.machine_fields)
        except sp.SpillwayError:
            return {}

    @property
    def words(self) -> str:
        """What has to be corrected, and what is changed."""
        waits = f"{len(self._wrong)} to mend" if self._typed else ""
        return ", ".join(filter(None, [waits, summary(self.changed)]))

    @property
    def _typed(self) -> dict[str, tuple[str, str]]:
        """What was typed for this machine and cannot be used, with the reason."""
        if self._of != self.problem.machine:
            self._of = self.problem.machine
            self._wrong = {}
        return self._wrong

    def enter(self, name: str, typed: str) -> None:
        """Take a number as it was typed; empty means the preset's. Plans if the value is new."""
        problem = self.problem
        preset = sp.load_machine(problem.machine)
        numbers = {**self.changed}
        if name not in {row.name for row in self.rows}:
            return
        try:
            numbers[name] = parse(name, typed) if typed.strip() else preset.numbers()[name]
            sp.with_numbers(preset, {name: numbers[name]})
        except sp.SpillwayError as error:
            line = str(error).removeprefix(f"machine {preset.name!r}: ")
            self._typed[name] = (typed, line.replace(f"{name} must", "it must"))
            return
        self._typed.pop(name, None)
        self._change(machine_fields=fields_text(problem.machine, numbers))

    def back(self) -> None:
        """Reset all numbers to the preset."""
        self._typed.clear()
        self._change(machine_fields="")

    @property
    def rows(self) -> list[MachineRow]:
        """Every number that can be edited; not the size on chip, which is the budget."""
        preset = sp.load_machine(self.problem.machine)
        changed, typed = self.changed, self._typed
        bounded = f"{preset.onchip}.size_bytes"
        return [
            _row(preset, name, value, changed.get(name, value), typed.get(name))
            for name, value in preset.numbers().items()
            if name != bounded
        ]


def _row(
    preset: sp.Machine, name: str, usual: float, value: float, typed: tuple[str, str] | None
) -> MachineRow:
    item, _, field = name.rpartition(".")
    label, kind = _field(name)
    if name in preset.without_effect:
        label += " (changes nothing)"
    text, wrong = typed or (format_number(name, value), "")
    engine = field in ("bytes_per_s", "latency_s")
    group = "arithmetic"
    if item and item != RATES:
        group = f"engine {item}" if engine else f"memory {item}"
    return MachineRow(
        name=name,
        group=group,
        label=label,
        text=text,
        preset=format_number(name, usual),
        changed=value != usual,
        source=preset.sources.get(name, ""),
        example=kind.example,
        wrong=wrong,
    )
