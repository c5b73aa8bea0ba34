"""Commands that write a plan as files that others read: a page, tables, a trace; C code."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, Literal

import typer

import planners as sp
from planners.cli.app import AsJson, app
from planners.cli.files import require_distinct
from planners.cli.options import PlanFile
from planners.cli.output import CommandAnswer, Reporter, print_table, size_text
from planners.core.files import write_text

PAGE, FILES = "app.outputs.standalone", "app.outputs.export"
"""By name: the library knows nothing of the application."""


TABLES = {
    "lifetimes": "CSV that `spillway pack` reads",
    "tensors": "CSV with a row for each tensor",
    "residencies": "CSV with a row for each rectangle of the address map",
    "timeline": "CSV with a row for each interval of an engine",
    "steps": "CSV with a row for each step, and its sentences",
}


def _file(name: str, about: str) -> Any:
    return typer.Option(f"--{name}", help=about)


@app.command()
def export(
    plan_file: PlanFile,
    html: Annotated[Path | None, _file("html", "one self-contained page")] = None,
    trace: Annotated[Path | None, _file("trace", "JSON for ui.perfetto.dev")] = None,
    lifetimes: Annotated[Path | None, _file("lifetimes", TABLES["lifetimes"])] = None,
    tensors: Annotated[Path | None, _file("tensors", TABLES["tensors"])] = None,
    residencies: Annotated[Path | None, _file("residencies", TABLES["residencies"])] = None,
    timeline: Annotated[Path | None, _file("timeline", TABLES["timeline"])] = None,
    steps: Annotated[Path | None, _file("steps", TABLES["steps"])] = None,
    theme: Annotated[
        Literal["auto", "light", "dark"], typer.Option("--theme", help="colours of the page")
    ] = "auto",
    as_json: AsJson = False,
) -> None:
    """Write a plan as a page that opens offline, as tables, or as a trace.

    The page carries the plan: wherever a plan's JSON is read, the page may be given instead.
    """
    files = (trace, lifetimes, tensors, residencies, timeline, steps)
    paths = zip(("trace", *TABLES), files, strict=True)
    wanted = {name: path for name, path in paths if path is not None}
    if html is None and not wanted:
        options = ", ".join(f"--{name}" for name in ("html", "trace", *TABLES))
        raise sp.BadInput(f"nothing to write: name a file with one of {options}")
    require_distinct([plan_file], {f"--{n}": p for n, p in {"html": html, **wanted}.items()})
    plan = sp.Plan.load(plan_file)
    with Reporter(f"exporting {plan.graph.name}") as reporter:
        written = _written(plan, html, wanted, theme, reporter)
    facts = {n: {"file": str(p), "bytes": p.stat().st_size} for n, p in written.items()}
    table = {name: f"{f['file']}, {f['bytes']:,} bytes" for name, f in facts.items()}
    CommandAnswer(as_json).give({"model": plan.graph.name, "files": facts}, print_table(table))


def _written(
    plan: sp.Plan, html: Path | None, wanted: dict[str, Path], theme: str, reporter: Reporter
) -> dict[str, Path]:
    """The files by name, once they are there."""
    page, files = (explorer_part(name, "spillway export") for name in (PAGE, FILES))

    def said(stage: str, _share: float) -> None:
        reporter.show(f"{plan.graph.name}: {stage}")

    said("checking every byte", 0.0)
    seen = page.seen_of(plan, theme=theme)
    paths: dict[str, Path] = {}
    if html is not None:
        write_text(html, page.page_html(seen, said))
        paths["html"] = html
    for name, path in wanted.items():
        write_text(path, files.written(name, seen.shown))
        paths[name] = path
    return paths


def explorer_part(name: str, command: str) -> ModuleType:
    """A module of the explorer, for a command.

    Raises `BadInput` where what it needs is not installed.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise sp.BadInput(
            f"`{command}` draws with the explorer, which needs {error.name}: "
            "install it with `pip install panel`"
        ) from error


@app.command()
def code(
    plan_file: PlanFile,
    out: Annotated[Path, typer.Option("--out", help="a new or empty folder, or this command's")],
    weights: Annotated[
        Literal["model", "random"],
        typer.Option("--weights", help="the plan's own weights, calibrated, or random ones"),
    ] = "model",
    seed: Annotated[int, typer.Option("--seed", help="seed of random weights and inputs")] = 0,
    as_json: AsJson = False,
) -> None:
    """Write an overlap plan as C99: int8, one pool of the planned bytes, no other memory.

    `make run` in the folder prints the checksum that is printed here.
    """
    plan = sp.Plan.load(plan_file)
    sp.check(plan)
    with Reporter(f"writing {plan.graph.name} as C"):
        written = sp.write_code(plan, out, weights=weights, seed=seed)
        checksum = written.checksum
    facts = {
        "model": plan.graph.name,
        "out": str(out),
        "files": list(written.files),
        "pool_bytes": written.pool_bytes,
        "checksum": checksum,
    }
    shown = {"files": " ".join(written.files), "pool_bytes": size_text(written.pool_bytes)}
    CommandAnswer(as_json).give(facts, print_table(facts | shown))
