"""Every notebook runs from top to bottom, and is committed without outputs.

Each cell is a test; what the cells before it leave behind is its fixture. They run in IPython's
shell in this process, and two notebooks in a kernel too: the others do with `--all`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol

import pytest

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
IN_A_KERNEL = ("03_outputs_over_inputs", "08_a_planner_of_your_own")
PLANS_FOR_MINUTES = ("09_a_design_review", "11_all_in_one_plan")
WRITES_A_PAGE = ("06_what_if", 16)
"""A cell that writes the page of a whole network: `tests/app/outputs` writes small ones."""
IMPORTED = """
import holoviews, planners.importers.torch.reader, torch._dynamo
holoviews.render(holoviews.Curve([]), backend="bokeh")
"""
"""What the lessons import, and what a first picture loads."""
HANGS_S = 600
"""Far above what any cell takes: only one that hangs waits it out."""


class Host(Protocol):
    """What runs cells: `begin` leaves nothing of another notebook."""

    def begin(self, path: Path) -> None: ...
    def run(self, code: str) -> None: ...


class Shell:
    """IPython's shell in this process, which has imported what all notebooks import."""

    def __init__(self, stack: ExitStack) -> None:
        from IPython.core.interactiveshell import InteractiveShell

        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.chdir(ROOT)
        stack.callback(InteractiveShell.clear_instance)
        main = sys.modules["__main__"]
        stack.callback(
            lambda: sys.modules.__setitem__("__main__", main)
        )  # worker processes read it
        self._shell = InteractiveShell.instance()

    def begin(self, path: Path) -> None:
        self._shell.reset(new_session=True)

    def run(self, code: str) -> None:
        self._shell.run_cell(code).raise_error()


class Kernel:
    """A kernel for each notebook, a process of its own."""

    def __init__(self, stack: ExitStack) -> None:
        self._kernel = stack.enter_context(ExitStack())

    def begin(self, path: Path) -> None:
        import nbformat
        from nbclient import NotebookClient

        self._kernel.close()
        resources = {"metadata": {"path": str(ROOT)}}
        self._client = NotebookClient(
            nbformat.v4.new_notebook(), timeout=HANGS_S, kernel_name="python3", resources=resources
        )
        # For an Output widget the client sends on the socket that it waits on; now and then it
        # then finds the kernel's reply only when its timeout is over.
        self._client.widget_registry = {}
        self._kernel.enter_context(self._client.setup_kernel())
        self.run(IMPORTED)

    def run(self, code: str) -> None:
        import nbformat

        cell = nbformat.v4.new_code_cell(code)
        self._client.nb.cells.append(cell)
        self._client.execute_cell(cell, len(self._client.nb.cells) - 1)


class Desk:
    """A host with one notebook open, of which it has run the first cells."""

    def __init__(self, host: Host) -> None:
        self.host, self.path, self.done = host, Path(), 0

    def run(self, path: Path, stop: int) -> None:
        """Run the cells before that one that have not run. Raises what a cell raises."""
        if path != self.path or self.done > stop:
            self.host.begin(path)
            self.path, self.done = path, 0
        for cell in code_of(path)[self.done : stop]:
            self.host.run(cell)
            self.done += 1


def code_of(path: Path) -> list[str]:
    """The cells of code, as they are committed."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def cells(*usual: str) -> list[Any]:
    """Every cell of every notebook, those of others than these marked `long`."""
    return [
        pytest.param(
            path,
            cell,
            marks=()
            if path.stem in usual and (path.stem, cell) != WRITES_A_PAGE
            else pytest.mark.long,
            id=f"{path.stem}-{cell + 1}",
        )
        for path in NOTEBOOKS
        for cell in range(len(code_of(path)))
    ]


@pytest.fixture(scope="module")
def desks() -> Iterator[dict[type, Desk]]:
    with ExitStack() as stack:
        yield {host: Desk(host(stack)) for host in (Shell, Kernel)}


@pytest.fixture
def in_the_shell(desks: dict[type, Desk], path: Path, cell: int) -> Desk:
    desks[Shell].run(path, cell)
    return desks[Shell]


@pytest.fixture
def in_a_kernel(desks: dict[type, Desk], path: Path, cell: int) -> Desk:
    desks[Kernel].run(path, cell)
    return desks[Kernel]


def test_there_is_a_lesson() -> None:
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_committed_without_outputs(path: Path) -> None:
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert code
    assert all(not cell.outputs and cell.execution_count is None for cell in code)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_lesson_opens_with_its_question_and_ends_with_one_to_try(path: Path) -> None:
    texts = ["".join(c["source"]) for c in json.loads(path.read_text(encoding="utf-8"))["cells"]]
    assert re.search(r"^# .+\n\n\*\*.+\?\*\*$", texts[0], re.MULTILINE)
    assert texts[-1].startswith("**Try it.**")
    assert any("sp.plots." in code for code in code_of(path))


@pytest.mark.parametrize(
    ("path", "cell"), cells(*(p.stem for p in NOTEBOOKS if p.stem not in PLANS_FOR_MINUTES))
)
def test_a_cell(in_the_shell: Desk, path: Path, cell: int) -> None:
    in_the_shell.run(path, cell + 1)


@pytest.mark.parametrize(("path", "cell"), cells(*IN_A_KERNEL))
def test_a_cell_in_a_kernel(in_a_kernel: Desk, path: Path, cell: int) -> None:
    in_a_kernel.run(path, cell + 1)
