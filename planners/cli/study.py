"""Commands about many plans, or this machine: sweep, calibrate."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import planners as sp
from planners.catalogue.names import TORCHVISION
from planners.cli.app import AsJson, app
from planners.cli.files import require_distinct
from planners.cli.options import (
    FoldPadding,
    GranularityOption,
    Input,
    MachineOption,
    Parameters,
    TimeLimit,
    WeightsOption,
    Width,
    load,
    weights_given,
)
from planners.cli.output import CommandAnswer, Reporter, print_table
from planners.cli.planner_options import with_planner_options
from planners.cli.stream import time_layers
from planners.core.errors import BadInput
from planners.core.files import write_text
from planners.core.registry import DEFAULT
from planners.study.worker_processes import WorkerProcesses

if TYPE_CHECKING:
    import pandas as pd

PRINTED = ["model", "planner", "budget", "budget_bytes", "status", "gap", "offchip_bytes"]
PRINTED += ["makespan_s", "plan_s"]
"""The columns that are printed; a file has them all."""


@contextmanager
def dask_executor(address: str | None) -> Iterator[Executor | None]:
    """The executor of a Dask cluster; None without an address. Raises `BadInput`."""
    if address is None:
        yield None
        return
    try:
        from distributed import Client
    except ImportError:
        raise BadInput("--scheduler needs Dask: pip install distributed") from None
    try:
        client = Client(address, timeout="10s")  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise BadInput(f"no scheduler of Dask answers at {address}: {error}") from error
    with client:
        # Not pure: to name each task by a hash of its graph takes longer than to plan it.
        yield client.get_executor(pure=False)  # type: ignore[no-untyped-call]


@contextmanager
def workers(jobs: int, scheduler: str | None) -> Iterator[Executor | None]:
    """Where plans are made: in this process, in several, or on a Dask cluster."""
    if jobs == 1:
        with dask_executor(scheduler) as executor:
            yield executor
        return
    with WorkerProcesses(jobs) as pool:
        yield pool


def table_writer(out: Path) -> Callable[[pd.DataFrame], None]:
    """What writes a table to a file of that name. Raises `BadInput` before anything is planned."""
    if out.suffix != ".parquet":
        return lambda table: write_text(out, table.to_csv(index=False))
    if find_spec("pyarrow") is None:
        raise BadInput(f"{out}: Parquet needs pyarrow: pip install pyarrow")

    def write(table: pd.DataFrame) -> None:
        try:
            table.to_parquet(out, index=False)
        except OSError as error:
            raise BadInput(f"cannot write {out}: {error.strerror or error}") from error

    return write


def with_commas(models: Iterable[str]) -> list[str]:
    """Models one by one; with commas there are several, but in the name of a file."""
    one_by_one = []
    for item in models:
        names = [item] if _is_there(Path(item)) else item.split(",")
        one_by_one += [name.strip() for name in names if name.strip()]
    return one_by_one


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # Many models are too long for the name of a file.
        return False


@app.command()
@with_planner_options(("schedule", "replacement", "wishes"))
def sweep(
    model: Annotated[
        list[str], typer.Argument(help="models, separated by spaces or commas, or all")
    ],
    planners: Annotated[
        str,
        typer.Option(
            "--planners", help="planners, separated by commas; with options: overlap:objective=ram"
        ),
    ] = DEFAULT,
    budgets: Annotated[str, typer.Option("--budgets", help="separated by commas")] = "MR,MH,MP",
    machine: MachineOption = "npu_small",
    time_limit: TimeLimit = 60.0,
    out: Annotated[
        Path | None, typer.Option("--out", help="save the table: .csv, or .parquet")
    ] = None,
    resume: Annotated[
        Path | None, typer.Option("--resume", help="store each row here; skip rows already there")
    ] = None,
    plans: Annotated[
        Path | None, typer.Option("--plans", help="keep each plan in this folder")
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option("--timeout", min=0, help="give up on a plan after so many seconds"),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="processes on this machine")] = 1,
    scheduler: Annotated[
        str | None, typer.Option("--scheduler", help="address of Dask, e.g. tcp://10.0.0.5:8786")
    ] = None,
    shape: Input = None,
    granularity: GranularityOption = "fused",
    width: Width = None,
    fold_padding: FoldPadding = True,
    parameters: Parameters = False,
    weights: WeightsOption = None,
    as_json: AsJson = False,
    *,
    options: dict[str, Any],
) -> None:
    """Plan models × planners × budgets into one table."""
    if scheduler is not None and jobs != 1:
        raise BadInput("--jobs is for this machine: a scheduler has its own workers")
    models = TORCHVISION if model == ["all"] else with_commas(model)
    require_distinct([*models, machine], {"--out": out, "--resume": resume})
    writer = None if out is None else table_writer(out)
    graphs = [load(name, shape, granularity, width, fold_padding) for name in models]
    given = options | {"weights": weights_given(parameters, weights)}
    done, reporter = count(1), Reporter("sweeping")

    def tell(row: dict[str, Any]) -> None:
        """Say how far it is; a sweep that is asked to stop has no row after this one."""
        facts = f"{row['model']} {row['planner']} {row['budget']} {row['status']}"
        reporter.say(f"{next(done)} done, {facts}")
        if reporter.stop:
            raise KeyboardInterrupt

    with reporter, workers(jobs, scheduler) as executor:
        table = sp.sweep(
            graphs,
            [name.strip() for name in planners.split(",")],
            [item.strip() for item in budgets.split(",")],
            machine,
            executor,
            time_limit=time_limit,
            resume=resume,
            plans=plans,
            timeout=timeout,
            on_row=tell,
            **given,
        )
    if writer is not None:
        writer(table)
    failed = table[table["status"] == "failed"]
    rows = json.loads(table.to_json(orient="records"))
    shown = table[PRINTED].astype(object).where(table[PRINTED].notna(), "–")
    text = shown.to_string(index=False, float_format="{:.4g}".format)
    CommandAnswer(as_json).give({"rows": rows}, text)
    if len(failed):
        typer.echo(f"{len(failed)} failed, first: {failed.iloc[0]['reason']}", err=True)
        raise typer.Exit(1)


@app.command()
def calibrate(
    out: Annotated[Path, typer.Option("--out", help="write the machine file here")],
    folder: Annotated[
        Path | None, typer.Option("--folder", help="folder on the disk to measure")
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", help="time its layers: --out is a table for --times")
    ] = None,
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="repetitions of each layer")] = 5,
    shape: Input = None,
    granularity: GranularityOption = "fused",
    as_json: AsJson = False,
) -> None:
    """Measure this machine's copy, arithmetic and storage rates into a machine file."""
    from planners.study.calibrate import calibrate as measure

    require_distinct([model], {"--out": out})
    if model is not None:
        if folder is not None:
            raise BadInput("--folder is for a machine file, not for a model's table of times")
        time_layers(load(model, shape, granularity, "4"), out, repeats, as_json)
        return

    with Reporter("calibrating") as reporter:
        machine = measure(folder, reporter.progress)
    write_text(out, machine.to_toml())
    rates = {f"{m.name}_bytes_per_s": round(m.read_bytes_per_s) for m in machine.memories}
    facts = {"macs_per_s": round(machine.macs_per_s)} | rates | {"out": str(out)}
    CommandAnswer(as_json).give(facts, print_table(facts))
