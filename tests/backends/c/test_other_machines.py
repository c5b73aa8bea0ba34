"""The same C on other machines: of 32 bits, with the high byte first, a Cortex-M without a system.

Each needs its compiler, and but for the first an emulator (Debian: `gcc-i686-linux-gnu`;
`gcc-s390x-linux-gnu libc6-dev-s390x-cross qemu-user`; `gcc-arm-none-eabi libnewlib-arm-none-eabi
qemu-system-arm`); where they are missing it is left out.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from planners.backends.c import write_code
from planners.backends.int8.net import QNet
from planners.backends.int8.random_net import random_net
from planners.core.details.pool import PoolLayout
from tests.backends.c.test_code import STRICT, apart, every_kernel, expected, line, lines
from tests.overlap.small_nets import chained

ANY = frozenset({"x86_64", "aarch64", "arm64"})
BOARD = "qemu-system-arm -M mps2-an385 -nographic -monitor none -serial none"
SEMIHOSTED = "-semihosting-config enable=on,target=native,arg=model,arg=--hex -kernel"
VECTORS = """#include <stdint.h>
extern void _start(void);
__attribute__((section(".vectors"), used)) const uintptr_t vectors[2]
    = {0x20400000u, (uintptr_t)_start};
"""
"""Where a Cortex-M begins: the end of its stack, and what is called first."""


@dataclass(frozen=True)
class Machine:
    """How a program is built for a machine, and how it is run here."""

    compiler: str
    flags: str
    run: str = ""
    arguments: tuple[str, ...] = ("--hex",)
    hosts: frozenset[str] = ANY

    @property
    def is_here(self) -> bool:
        tools = [self.compiler, *self.run.split()[:1]]
        return platform.machine() in self.hosts and all(map(shutil.which, tools))


MACHINES = {
    "32 bits": Machine("i686-linux-gnu-gcc", "-static", hosts=frozenset({"x86_64"})),
    "high byte first": Machine("s390x-linux-gnu-gcc", "-static", "qemu-s390x"),
    "Cortex-M3": Machine(
        "arm-none-eabi-gcc",
        "-mcpu=cortex-m3 -mthumb --specs=rdimon.specs "
        "-Wl,--section-start=.vectors=0 -Wl,-Tdata=0x20000000",
        f"{BOARD} {SEMIHOSTED}",
        arguments=(),
    ),
}


@pytest.mark.parametrize("name", MACHINES)
def test_the_outputs_are_the_same(name: str, tmp_path: Path) -> None:
    machine = MACHINES[name]
    if not machine.is_here:
        pytest.skip(f"no {machine.compiler}, or nothing that runs its programs")
    graph, groups = lines(0)
    runs = [line(graph, group) for group in groups]
    for number, (net, layout) in enumerate(
        [
            (random_net(every_kernel(), 4), apart(every_kernel(), 5)),
            (random_net(graph, 0), chained(graph, [run for run in runs if run is not None])),
        ]
    ):
        assert _outputs(machine, net, layout, tmp_path / f"code{number}") == expected(net)


def _outputs(machine: Machine, net: QNet, layout: PoolLayout, folder: Path) -> tuple[str, str]:
    """The checksum that the program prints there, and its outputs in hex."""
    write_code(net, layout, folder)
    sources = sorted(map(str, folder.glob("*.c")))
    if machine.arguments == ():
        (vectors := folder.with_suffix(".c")).write_text(VECTORS)
        sources.append(str(vectors))
    program = str(folder.with_suffix(".program"))
    build = [machine.compiler, *STRICT, "-O2", *machine.flags.split(), "-o", program, *sources]
    done = subprocess.run(build, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:3000]
    run = [*machine.run.split(), program, *machine.arguments]
    first, *rest = subprocess.run(run, capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )
    return first, "".join(rest)
