"""`spillway reproduce`: a paper's tables and claims computed anew beside its own statements."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from planners.cli.app import AsJson, app
from planners.cli.files import require_distinct, write_page
from planners.cli.options import GranularityOption, TimeLimit
from planners.cli.output import CommandAnswer, Reporter
from planners.core.errors import BadInput
from planners.core.files import write_text
from planners.papers.memo import Memo
from planners.papers.report import one_report, to_html
from planners.study.long_tables import ReportPage


@app.command()
def reproduce(
    paper: Annotated[
        Literal["cosma", "optimus", "vmcu", "demand-layering", "all"],
        typer.Argument(help="which paper, or all"),
    ],
    models: Annotated[str | None, typer.Option("--models", help="with commas")] = None,
    budgets: Annotated[
        str, typer.Option("--budgets", help="cosma: separated by commas")
    ] = "MR,MH,MP",
    granularity: GranularityOption = "folded",
    time_limit: TimeLimit = 60.0,
    sweep_size: Annotated[
        int,
        typer.Option("--sweep", help="cosma: budgets from MR to MP, searched networks; 0: none"),
    ] = 9,
    execute: Annotated[
        bool, typer.Option("--execute", help="cosma: run the joint plans too")
    ] = False,
    quick: Annotated[bool, typer.Option("--quick", help="a short run (not for cosma)")] = False,
    resume: Annotated[
        Path | None, typer.Option("--resume", help="store results here and resume from them")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="save the report as Markdown; all: also as HTML")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option("--data", help="with --out: long tables as CSV and pictures, in this folder"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Reproduce a paper's comparison: COSMA's, Optimus's, vMCU's or Demand Layering's."""
    require_distinct([], {"--resume": resume, "--out": out})
    if data is not None and out is None:
        raise BadInput("--data is for the page that --out writes")
    if paper == "all":
        if data is not None:
            raise BadInput("--data is for one paper: name it instead of all")
        if models or time_limit != 60.0:
            raise BadInput("--models and --time-limit are for one paper: name it instead of all")
        _reproduce_all(quick, resume, out, as_json)
        return
    names = tuple(name.strip() for name in models.split(",")) if models else ()
    given = {
        "--budgets": budgets != "MR,MH,MP",
        "--granularity": granularity != "folded",
        "--sweep": sweep_size != 9,
        "--execute": execute,
    }
    if paper != "cosma" and any(given.values()):
        option = next(name for name, is_given in given.items() if is_given)
        raise BadInput(f"{option} is for 'reproduce cosma', not {paper}")
    if paper == "cosma" and quick:
        raise BadInput("--quick is not for 'reproduce cosma': name --models")
    with Reporter(f"reproducing {paper}") as reporter:
        tell = partial(_tell, reporter)
        if paper == "cosma":
            labels = tuple(label.strip().upper() for label in budgets.split(","))
            study = _cosma(names, (labels, granularity, time_limit, sweep_size, execute))
        else:
            study = _study(paper, names, quick, time_limit)
        facts, page = _compared(paper, study, resume, tell)
    write_page(out, data, paper.replace("-", "_"), page)
    CommandAnswer(as_json).give(facts, str(page))


STUDIES = {
    "cosma": "CosmaStudy",
    "optimus": "OptimusStudy",
    "vmcu": "VmcuStudy",
    "demand-layering": "StreamingStudy",
}
QUICK_COSMA = ("alexnet", "squeezenet1_0", "mobilenet_v2", "resnet50")


def _reproduce_all(quick: bool, resume: Path | None, out: Path | None, as_json: bool) -> None:
    """Every paper, one after the other, in one report. What is done is kept beside `resume`."""
    page = out.with_suffix(".html") if out else None
    require_distinct([], {"--out": out, "the report as HTML:": page})
    facts: dict[str, Any] = {}
    texts: dict[str, str] = {}
    for paper in STUDIES:
        kept = resume.with_name(f"{resume.stem}.{paper}.jsonl") if resume else None
        with Reporter(f"reproducing {paper}") as reporter:
            tell = partial(_tell, reporter)
            if paper == "cosma":
                options = (("MR", "MH", "MP"), "folded", 10.0 if quick else 60.0, 0 if quick else 9)
                names = QUICK_COSMA if quick else ()
                study = _cosma(names, (*options, not quick))
            else:
                study = _study(paper, (), quick, 60.0)
            facts[paper], report = _compared(paper, study, kept, tell)
            texts[paper] = str(report)
    text = one_report(texts, quick)
    if out is not None and page is not None:
        write_text(out, text)
        write_text(page, to_html(text, "Four papers, reproduced"))
    CommandAnswer(as_json).give(facts, text)


def _module(paper: str, name: str) -> Any:
    return import_module(f"planners.papers.{paper.replace('-', '_')}.{name}")


def _cosma(names: tuple[str, ...], options: tuple[Any, ...]) -> Any:
    """COSMA's study, of these networks or of all."""
    study = getattr(_module("cosma", "study"), STUDIES["cosma"])(*options)
    return replace(study, models=names) if names else study


def _study(paper: str, names: tuple[str, ...], quick: bool, time_limit_s: float) -> Any:
    """The study of another paper, with a time limit where it has one."""
    whole = getattr(_module(paper, "study"), STUDIES[paper])
    study = whole.small() if quick else whole()
    if paper != "demand-layering":
        study = replace(study, time_limit_s=time_limit_s)
    return study.only(names) if names else study


def _compared(
    paper: str, study: Any, resume: Path | None, tell: Callable[[str], None]
) -> tuple[dict[str, Any], ReportPage]:
    """The comparison with a paper: its facts and its report."""
    tables = _module(paper, "study").reproduce(study, Memo(resume, tell))
    report = _module(paper, "report")
    return report.facts(tables), report.report(tables, study)


def _tell(reporter: Reporter, text: str) -> None:
    """What was done, where it is seen: in the live line, or in a log."""
    reporter.say(text)
    if not sys.stderr.isatty():
        print(text, file=sys.stderr, flush=True)
