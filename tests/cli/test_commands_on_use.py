"""Commands are listed without their modules, and say of themselves what the list says."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from planners.cli.app import app
from planners.cli.commands import COMMANDS, _Listed, imported


@pytest.mark.parametrize("name", COMMANDS)
def test_the_line_in_the_help_is_the_commands_own(name: str) -> None:
    command, listed = imported(name), _Listed(name, help=COMMANDS[name][1])
    for width in (20, 61, 1000):
        assert listed.get_short_help_str(width) == command.get_short_help_str(width)


def test_every_command_is_listed_with_its_module() -> None:
    for module, _ in COMMANDS.values():
        import_module(module)
    added = {
        info.name or str(info.callback.__name__): info.callback.__module__
        for info in app.registered_commands
        if info.callback
    }
    assert added == {name: module for name, (module, _) in COMMANDS.items()}


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["models"]])
def test_what_needs_no_command_imports_none(words: list[str]) -> None:
    code = (
        "import sys\n"
        "from planners.cli import main\n"
        f"try: main({words!r})\n"
        "except SystemExit: pass\n"
        "light = {'numpy', 'rich', 'pydantic', 'importlib.metadata', 'planners.core.graph'}\n"
        "print(*sorted(light & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.split() == []
    assert done.stdout


def test_a_slip_is_told_with_what_was_meant(capfd: pytest.CaptureFixture[str]) -> None:
    from planners.cli import main

    with pytest.raises(SystemExit) as ended:
        main(["plann"])
    assert ended.value.code == 2
    assert capfd.readouterr().err == "spillway: No such command 'plann'. Did you mean 'plan'?\n"


def test_a_shipped_graph_is_planned_without_what_only_others_need() -> None:
    code = (
        "import sys, planners as sp\n"
        "sp.plan(sp.load('resnet50'), budget='MR')\n"
        "heavy = {'numpy', 'scipy', 'ortools', 'networkx', 'rich', 'importlib.metadata'}\n"
        "ours = {'fusion', 'overlap', 'streaming', 'joined', 'auto', 'importers.passes'}\n"
        "heavy |= {f'planners.{room}' for room in ours}\n"
        "print(*sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


STOPPED = """
import sys

class Stopping:
    def find_spec(self, name, path, target=None):
        if name == "planners.cli.commands":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Stopping())
from planners.cli import main
main(["--version"])
"""


def test_one_may_stop_it_while_it_is_imported() -> None:
    done = subprocess.run([sys.executable, "-c", STOPPED], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "spillway: interrupted\n")
