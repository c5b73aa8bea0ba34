"""`spillway assignments` and `spillway judge`: tasks for a course, and what answers are worth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from planners.assignments import (
    Exercise,
    Judgement,
    assignment,
    assignments,
    judge,
    judge_folder,
    solution,
)
from planners.assignments.judge import as_csv
from planners.cli.app import AsJson, app
from planners.cli.output import CommandAnswer, Reporter
from planners.core.errors import BadInput
from planners.core.files import write_json, write_text
from planners.core.plan import Plan

FAILED = 3
Task = Annotated[str, typer.Argument(help="name of the task, or its number from 1 to 10")]
STARTER = {"addresses": "an address for each tensor", "order": "the operators in an order"}
STARTER |= {"moves": "the moves", "plan": "a plan"}


@app.command("assignments")
def tell(
    name: Annotated[str | None, typer.Argument(help="name or number; none: list all")] = None,
    graph: Annotated[Path | None, typer.Option(help="write the task's network here")] = None,
    starter: Annotated[Path | None, typer.Option(help="write an answer to begin with")] = None,
    solved: Annotated[
        Path | None, typer.Option("--solution", help="plan the model answer and write it there")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Ten tasks from easy to hard; `spillway judge` says whether an answer passes."""
    if name is None:
        if graph or starter or solved:
            raise BadInput("say which task: spillway assignments 1 --graph FILE")
        tasks = [_facts(task) for task in assignments()]
        text = "\n".join(
            f"{number:>2}  {task.name:<16}{task.title}"
            for number, task in enumerate(assignments(), 1)
        )
        CommandAnswer(as_json).give({"assignments": tasks}, text)
        return
    task = assignment(name)
    if graph is not None:
        task.graph().save(graph)
    if starter is not None:
        if not task.starter:
            raise BadInput(f"the answer to {task.name} is a plan, so there is no starter")
        write_json(starter, dict(task.starter))
    if solved is not None:
        _write_solution(task, solved, as_json)
    CommandAnswer(as_json).give(_facts(task), _text(task))


def _write_solution(task: Exercise, path: Path, as_json: bool) -> None:
    with Reporter(f"solving {task.name}"):
        answer = solution(task)
    if isinstance(answer, Plan):
        answer.save(path)
    else:
        write_json(path, answer)


def _facts(task: Exercise) -> dict[str, Any]:
    goals = [{"measure": goal.measure, "most": goal.most} for goal in task.goals]
    words = {"name": task.name, "title": task.title, "text": task.text, "answer": task.answer}
    bounds = {"budget_bytes": task.budget_bytes, "machine": task.machine, "weights": task.weights}
    return {**words, **bounds, "goals": goals}


def _text(task: Exercise) -> str:
    lines = [task.title, "", task.text, ""]
    bound = (
        "" if task.budget_bytes is None else f" in {task.budget_bytes:,} bytes of {task.machine}"
    )
    lines.append(f"answer   {STARTER[task.answer]}{bound}, weights {task.weights}")
    lines += [f"passes   what {goal.words(goal.most)} at most" for goal in task.goals]
    lines.append(f"judge    spillway judge {task.name} ANSWER.json")
    return "\n".join(lines)


@app.command("judge")
def tell_verdict(
    name: Task,
    answer: Annotated[Path, typer.Argument(help="an answer, a plan, or a folder of answers")],
    out: Annotated[
        Path | None, typer.Option(help="for a folder: write the results, as .csv")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Does an answer pass, and if not, why? Exits with 3 where one does not."""
    task = assignment(name)
    if answer.is_dir():
        _judge_class(task, answer, out, as_json)
        return
    if out is not None:
        raise BadInput("--out writes the table of a folder of answers; this is one file")
    if not answer.exists():
        raise BadInput(f"no answer: {answer} does not exist")
    verdict = judge(task, answer)
    CommandAnswer(as_json).give(verdict.to_json(), verdict.says)
    _leave(verdict)


def _leave(verdict: Judgement) -> None:
    if not verdict.passed:
        raise typer.Exit(FAILED)


def _judge_class(task: Exercise, folder: Path, out: Path | None, as_json: bool) -> None:
    rows = judge_folder(task, folder)
    if out is not None:
        if out.suffix != ".csv":
            raise BadInput(f"--out {out}: write a .csv")
        write_text(out, as_csv(rows))
    passed = sum(row["passed"] for row in rows)
    lines = [f"{row['student']:<24.24}{row['says']}" for row in rows]
    text = "\n".join([*lines, f"{passed} of {len(rows)} pass"])
    CommandAnswer(as_json).give({"passed": passed, "answers": rows}, text)
