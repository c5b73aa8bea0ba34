"""What runs plans elsewhere keeps nothing from run to run yet, and says so."""

from __future__ import annotations

from pathlib import Path

import pytest

import planners as sp
from planners.backends.c.of_plan import code_of_plan
from planners.backends.disk.layout import layout_of
from tests.cell import cell


def test_c_code_and_streaming_from_files_refuse_state(tmp_path: Path) -> None:
    with pytest.raises(sp.BadInput, match="C code keeps nothing from run to run"):
        code_of_plan(sp.plan(cell(), "overlap", 1024), tmp_path)
    with pytest.raises(sp.BadInput, match="is not streamed from files"):
        layout_of(sp.plan(cell(), "streaming", 1024))
