"""Latency and energy of a plan on a microcontroller: a model, to compare plans with.

Its terms, all from the machine's fields and the counts of `work`:

* `compute`, `repeated`: MACs, and those done again, at the machine's rate;
* `ram`: bytes read and written at the on-chip memory's bandwidths;
* `flash`: bytes of weights at the flash's bandwidth; they are read anew for every
  `KernelStyle.pixels` output pixels, nothing is cached;
* `modulo`: operations on addresses, `modulo_cycles` each.

Times add: an in-order core does one after the other. (A Cortex-M7 starts two instructions at a
time, so that for it the sum is an upper estimate.) Energy is the core's power while each term
takes, and the memories' energy by the byte: the presets' `mac_pj` is that of the whole core.

What the model leaves out: instructions of loops and requantization, pipeline stalls, caches. A
preset's `macs_per_s` is the most that the instruction set allows; the vMCU paper's Table 3 has
TinyEngine at 23 million MACs a second on modules S1 to S8, a ninth of it. The paper measured 20.6
to 53.0 % less energy and 18.5 to 40.0 % less latency than TinyEngine on nine pointwise convolutions
(section 7.2), which it explains by copies that TinyEngine makes (they are in
`work.tinyengine_work`) and by loops unrolled in full (they are not in the model), and 1.03 times
its speed on modules S1 to S8 (section 7.3).
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from planners.core.machine import Machine
from planners.overlap.cost.work import KernelWork

MODULO_CYCLES = 13
"""A division (2 to 12 cycles on a Cortex-M4, recalled) and a multiply-subtract, at worst."""


@dataclass(frozen=True, slots=True)
class TimeTerms:
    """One number for each term of the model, in the same unit."""

    compute: float
    repeated: float
    ram: float
    flash: float
    modulo: float

    @property
    def total(self) -> float:
        return float(sum(getattr(self, f.name) for f in fields(TimeTerms)))


@dataclass(frozen=True, slots=True)
class McuCost:
    """The model's estimate for some work on a machine."""

    machine: str
    work: KernelWork
    seconds: TimeTerms
    joules: TimeTerms

    @property
    def latency_s(self) -> float:
        return self.seconds.total

    @property
    def energy_j(self) -> float:
        return self.joules.total


def cost(work: KernelWork, machine: Machine, modulo_cycles: float = MODULO_CYCLES) -> McuCost:
    """Time and energy of some work, term by term.

    On a machine of `onchip` RAM, and with the weights in its memory `parameters`, at its MAC rate.
    """
    ram, flash = machine.memory(machine.onchip), machine.memory(machine.parameters)
    seconds = TimeTerms(
        compute=work.macs / machine.macs_per_s,
        repeated=work.repeated_macs / machine.macs_per_s,
        ram=work.ram_read_bytes / ram.read_bytes_per_s
        + work.ram_written_bytes / ram.write_bytes_per_s,
        flash=work.flash_bytes / flash.read_bytes_per_s,
        modulo=work.modulos * modulo_cycles / machine.clock_hz,
    )
    watts = machine.mac_pj * 1e-12 * machine.macs_per_s
    moved = work.ram_read_bytes * ram.read_pj_per_byte
    moved += work.ram_written_bytes * ram.write_pj_per_byte
    joules = TimeTerms(
        compute=watts * seconds.compute,
        repeated=watts * seconds.repeated,
        ram=watts * seconds.ram + moved * 1e-12,
        flash=watts * seconds.flash + work.flash_bytes * flash.read_pj_per_byte * 1e-12,
        modulo=watts * seconds.modulo,
    )
    return McuCost(machine.name, work, seconds, joules)
