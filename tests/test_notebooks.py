"""Every notebook runs from top to bottom, and is committed without outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def test_there_is_a_lesson() -> None:
    assert NOTEBOOKS


def often(path: Path) -> Any:
    """The review plans for two minutes: it runs when there is time."""
    return pytest.param(path, marks=pytest.mark.long if "review" in path.stem else ())


@pytest.mark.parametrize("path", [often(path) for path in NOTEBOOKS], ids=lambda p: p.stem)
def test_notebook(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in code)
    resources = {"metadata": {"path": str(ROOT)}}
    client = NotebookClient(notebook, timeout=200, kernel_name="python3", resources=resources)
    # For an Output widget the client sends on the socket that it waits on; now and then it then
    # finds the kernel's reply only when its timeout is over.
    client.widget_registry = {}
    client.execute()
