"""A journey through the machine's numbers in a real browser.

A link that changes one · another typed, planned and timed · a wrong one, mended · the preset back.
"""

from __future__ import annotations

import re

from tests.ui.conftest import SMALL, Go, expect


def test_numbers_of_the_machine_are_changed_and_come_back(go: Go) -> None:
    page = go(f"{SMALL}&machine_fields=host.read_bytes_per_s%3D4e9")
    head, latency = page.locator(".machine-numbers button"), page.locator(".card.latency")
    expect(head).to_have_text("▸ Machine's numbers: host.read 4 GB/s")
    head.focus()
    page.keyboard.press("Enter")
    read = page.get_by_label("memory host: read", exact=True)
    expect(read).to_have_value("4 GB/s")
    expect(read).to_have_accessible_description("the preset has 8 GB/s")
    at_first = latency.inner_text()
    wait = page.get_by_label("engine dma_in: latency", exact=True)
    wait.fill("200")
    wait.press("Tab")
    about = page.locator(".number-fields .about.wrong")
    expect(about).to_contain_text("Write a unit, e.g. 200 ns")
    expect(wait).to_have_value("200")
    wait.fill("200 us")
    wait.press("Enter")
    expect(about).to_have_count(0)
    expect(latency).not_to_have_text(at_first, use_inner_text=True)
    expect(page.locator(".machine-back button")).to_be_enabled()
    page.locator(".machine-back button").click()
    expect(read).to_have_value("8 GB/s")
    expect(head).to_have_text(re.compile("Machine's numbers$"))
