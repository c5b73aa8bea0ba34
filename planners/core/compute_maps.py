"""How a machine's array takes an operator: its maps, what leaves it, and the ports it reads by.

Three tables of a machine file. `[[compute_maps]]` are the ways to lay an operator on the array,
`[compute_rates]` says how many output elements leave it in a cycle, by kind of operator, and
`[compute_ports]` which memories are read side by side. A machine with neither maps nor rates is an
ideal one: each operator runs at `macs_per_s`, whatever its kind and shape.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from planners.core.errors import BadInput

KINDS: Mapping[str, str] = {
    "dense": "products over many channels: convolutions, matrix products, attention",
    "pointwise": "dense convolutions of one pixel, where they differ from other dense ones",
    "linear": "matrix products, where they differ from other dense ones",
    "depthwise": "convolutions of each channel by itself",
    "pool": "pools, and means and sums over pixels",
    "mean": "means and sums over pixels, where they differ from pools",
}
"""What a map may be for."""
ENTROPY = "entropy"


@dataclass(frozen=True, slots=True)
class ComputeMap:
    """One way to lay operators of some `kinds` on the array.

    A step makes `pixels` (rows, columns) of `outputs` channels, over `inputs` channels and `kernel`
    elements of the window, in `cycles` of the machine's clock; every axis of an operator is rounded
    up to whole steps. A weight stays for at least `hold_cycles` in the array.
    """

    kinds: tuple[str, ...]
    pixels: tuple[int, int] = (1, 1)
    outputs: int = 1
    inputs: int = 1
    kernel: int = 1
    cycles: float = 1.0
    hold_cycles: float = 0.0

    @property
    def macs_per_cycle(self) -> float:
        """What it does where every axis is full."""
        rows, columns = self.pixels
        return rows * columns * self.outputs * self.inputs * self.kernel / self.cycles


@dataclass(frozen=True, slots=True)
class ComputePorts:
    """How the compute engine reads: from the memories of each group of `parallel` one after the
    other, and from the groups side by side; memories that no group names are a group together.

    Memories in `shared` are read and written by one port, in turn. `weights` that are read where
    they live count so many of their bytes (a number, at most 1), or those of their entropy where
    the graph knows it (`"entropy"`).
    """

    parallel: tuple[tuple[str, ...], ...] = ()
    shared: tuple[str, ...] = ()
    weights: float | str = 1.0


ALL_IN_TURN = ComputePorts()
"""The ports of a machine that says nothing of them."""


def maps_of(items: Any) -> tuple[ComputeMap, ...]:
    """The maps of a machine file. Raises `BadInput` naming map and field."""
    if not isinstance(items, (list, tuple)):
        raise BadInput("machine: compute_maps must be a list of tables")
    return tuple(_map(item, f"compute_maps[{i}]") for i, item in enumerate(items))


def _map(item: Any, where: str) -> ComputeMap:
    if isinstance(item, ComputeMap):
        return item
    values = _known_fields(item, ComputeMap, where)
    if "kinds" not in values:
        raise BadInput(f"{where}: field 'kinds' is missing")
    values["kinds"] = _texts(values["kinds"], f"{where}: kinds")
    if "pixels" in values:
        pixels = values["pixels"]
        if not isinstance(pixels, (list, tuple)) or len(pixels) != 2:
            raise BadInput(f"{where}: pixels must be two numbers, rows and columns")
        values["pixels"] = tuple(pixels)
    return ComputeMap(**values)


def rates_of(table: Any) -> dict[str, float]:
    """Output elements a cycle, by kind. Raises `BadInput`."""
    if not isinstance(table, Mapping):
        raise BadInput("machine: compute_rates must be a table of numbers")
    for kind, rate in table.items():
        if isinstance(rate, bool) or not isinstance(rate, (int, float)):
            raise BadInput(f"compute_rates: {kind} must be a number, not {rate!r:.40}")
    return {kind: float(rate) for kind, rate in table.items()}


def ports_of(table: Any) -> ComputePorts:
    """How memories are read. Raises `BadInput`."""
    if isinstance(table, ComputePorts):
        return table
    where = "compute_ports"
    values = _known_fields(table, ComputePorts, where)
    groups = values.get("parallel", ())
    if not isinstance(groups, (list, tuple)):
        raise BadInput(f"{where}: parallel must be a list of lists of names of memories")
    values["parallel"] = tuple(_texts(group, f"{where}: parallel") for group in groups)
    values["shared"] = _texts(values.get("shared", ()), f"{where}: shared")
    return ComputePorts(**values)


def _known_fields(item: Any, kind: type[Any], where: str) -> dict[str, Any]:
    if not isinstance(item, Mapping):
        raise BadInput(f"{where}: expected a table of fields, not {item!r:.80}")
    names = [each.name for each in fields(kind)]
    for name in item:
        if name not in names:
            near = difflib.get_close_matches(str(name), names, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise BadInput(f"{where}: unknown field {name!r:.80}{hint}")
    return dict(item)


def _texts(items: Any, what: str) -> tuple[str, ...]:
    if not isinstance(items, (list, tuple)) or not all(isinstance(item, str) for item in items):
        raise BadInput(f"{what} must be a list of names, not {items!r:.80}")
    return tuple(items)


def check_compute(
    maps: tuple[ComputeMap, ...],
    rates: Mapping[str, float],
    ports: ComputePorts,
    memories: set[str],
    fail: Callable[[str], None],
) -> None:
    """Tell what makes no sense, field by field."""
    for i, each in enumerate(maps):
        _check_map(each, lambda reason, i=i: fail(f"compute_maps[{i}]: {reason}"))  # type: ignore[misc]
    for kind in rates:
        if not kind.isidentifier():
            fail(f"compute_rates: {kind!r:.80} is not a kind of operator")
    named = [name for group in ports.parallel for name in group]
    for name in (*named, *ports.shared):
        if name not in memories:
            fail(f"compute_ports names no memory: {name!r:.80}")
        if named.count(name) > 1:
            fail(f"compute_ports: {name!r:.80} is in two groups")
    weights = ports.weights
    number = isinstance(weights, (int, float)) and not isinstance(weights, bool)
    if weights != ENTROPY and not (number and 0 < float(weights) <= 1):
        fail(
            "compute_ports.weights must be a number above 0 and at most 1, or "
            f"{ENTROPY!r}, not {weights!r:.40}"
        )


def _check_map(each: ComputeMap, fail: Callable[[str], None]) -> None:
    if not each.kinds:
        fail("kinds names none")
    for kind in each.kinds:
        if kind not in KINDS:
            fail(f"{kind!r:.80} is not a kind of operator: {', '.join(KINDS)}")
    rows, columns = each.pixels
    axes = {"pixels[0]": rows, "pixels[1]": columns}
    axes |= {"outputs": each.outputs, "inputs": each.inputs, "kernel": each.kernel}
    for name, value in axes.items():
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 2**31:
            fail(f"{name} must be a whole number above zero, not {value!r:.40}")
    for name in ("cycles", "hold_cycles"):
        value = getattr(each, name)
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not 0 <= value < 1e30 or (name == "cycles" and value == 0):
            above = "above zero" if name == "cycles" else "zero or above"
            fail(f"{name} must be a finite number {above}, not {value!r:.40}")
