"""Words at the ticks of axes of bytes, as the browser writes them."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from app.widgets.axes import FORMAT_ADDRESS
from planners.core.units import format_bytes

AXES = [[k * 2**power + base for k in range(9)] for power in range(32) for base in (0, 3 << power)]
SCRIPT = """
const tell = new Function('tick', 'ticks', 'unit', code);
const write = (ticks) => ticks.map((tick) => tell(tick, ticks, { tags: ['KiB'] }));
process.stdout.write(JSON.stringify(JSON.parse(require('fs').readFileSync(0, 'utf8')).map(write)));
"""


def test_a_size_has_the_unit_that_it_has_in_tables_and_no_two_ticks_are_alike() -> None:
    if (node := shutil.which("node")) is None:
        pytest.skip("no node here")
    script = f"const code = {json.dumps(FORMAT_ADDRESS)};{SCRIPT}"
    given = json.dumps(AXES)
    done = subprocess.run(
        [node, "-e", script], input=given, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    for ticks, words in zip(AXES, json.loads(done.stdout), strict=True):
        assert len(set(words)) == len(words)
        if ticks[0] == 0:
            assert words == [format_bytes(tick) for tick in ticks]
