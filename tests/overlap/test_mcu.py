"""The model of microcontrollers: terms by hand, and what the vMCU paper measured beside it."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest

from planners.catalogue.vmcu import POINTWISE, TABLE_2, bottleneck, pointwise
from planners.core.compute_seconds import ComputeSeconds
from planners.core.details.pool import KernelRun, PoolLayout
from planners.core.machine import load_machine
from planners.overlap.cost.mcu import cost
from planners.overlap.cost.work import KernelWork, tinyengine_work, work
from planners.papers.vmcu.paper import TABLE_3

DONE = KernelWork(
    macs=2_000_000,
    repeated_macs=400_000,
    ram_read_bytes=1_000_000,
    ram_written_bytes=200_000,
    flash_bytes=600_000,
    modulos=5_000,
)


def test_terms_by_hand() -> None:
    # 200 MMAC/s, 400 MB/s of RAM and of flash, 100 MHz; the core takes 165 pJ × 200 MHz = 33 mW.
    found = cost(DONE, load_machine("stm32f411"), modulo_cycles=10)
    seconds, joules = found.seconds, found.joules
    assert seconds.compute == pytest.approx(10e-3)
    assert seconds.repeated == pytest.approx(2e-3)
    assert seconds.ram == pytest.approx(2.5e-3 + 0.5e-3)
    assert seconds.flash == pytest.approx(1.5e-3)
    assert seconds.modulo == pytest.approx(0.5e-3)
    assert found.latency_s == pytest.approx(17e-3)
    assert joules.compute == pytest.approx(330e-6)
    assert joules.repeated == pytest.approx(66e-6)
    assert joules.ram == pytest.approx(99e-6 + 4.2875e-6 + 0.625e-6)
    assert joules.flash == pytest.approx(49.5e-6 + 15e-6)
    assert joules.modulo == pytest.approx(16.5e-6)
    assert found.energy_j == pytest.approx(580.9125e-6)
    assert (found.machine, found.work) == ("stm32f411", DONE)


def test_a_slower_board() -> None:
    machine = load_machine("stm32f411")
    slow = cost(DONE, replace(machine, macs_per_s=machine.macs_per_s / 4)).seconds
    fast = cost(DONE, machine).seconds
    assert (slow.compute, slow.repeated) == (4 * fast.compute, 4 * fast.repeated)
    assert (slow.ram, slow.flash, slow.modulo) == (fast.ram, fast.flash, fast.modulo)


def test_copies_cost_more_than_modulo_operations_on_the_paper_s_small_board() -> None:
    machine = load_machine("stm32f411")
    for case in POINTWISE.values():
        graph = pointwise(case)
        ours = cost(work(graph, PoolLayout(0, {}, (KernelRun("alone", ("conv",)),))), machine)
        theirs = cost(tinyengine_work(graph), machine)
        # The paper measured 18.5 to 40.0 %, loops unrolled in full included.
        assert 0 < 1 - ours.latency_s / theirs.latency_s < 0.185
        assert 0 < 1 - ours.energy_j / theirs.energy_j < 0.206


def test_the_paper_s_times_are_those_of_a_ninth_of_the_presets_rate() -> None:
    milliseconds = (37, 37, 35, 29, 24, 19, 36, 28)  # Table 3, TinyEngine
    modules = [bottleneck(TABLE_2[f"S{i + 1}"]) for i in range(8)]
    rate = sum(graph.macs for graph in modules) / sum(milliseconds) * 1e3
    assert rate == pytest.approx(23e6, rel=0.02)
    assert load_machine("stm32f411").macs_per_s / rate == pytest.approx(9, rel=0.03)


def test_cycles_fitted_on_four_modules_tell_the_other_four() -> None:
    modules = [bottleneck(TABLE_2[name]) for name in TABLE_3]
    board = load_machine("stm32f411")
    ours = [
        1e3 * sum(map(ComputeSeconds(graph, board).whole_s, graph.operators)) for graph in modules
    ]
    for measured in zip(*TABLE_3.values(), strict=True):
        for predicted, milliseconds in zip(ours[4:], measured[4:], strict=True):
            assert predicted == pytest.approx(milliseconds, rel=0.2)
        for (a, slow), (b, fast) in permutations(zip(ours, measured, strict=True), 2):
            assert a > b or slow <= fast
