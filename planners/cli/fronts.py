"""What the table of a sweep says: who wins where, and how much of the front each planner has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from planners.cli.app import AsJson, app
from planners.cli.files import require_distinct, write_page
from planners.cli.options import WeightsOption
from planners.cli.output import CommandAnswer
from planners.core.errors import BadInput
from planners.core.machine import presets
from planners.core.units import format_quantity
from planners.study.fronts import METRICS, UNITS
from planners.study.long_tables import LongTable, ReportPage, TextTable
from planners.study.table_charts import TableForm

if TYPE_CHECKING:
    import pandas as pd

NAMES = ", ".join(METRICS)


@app.command()
def winners(
    table: Annotated[Path, typer.Argument(help="what spillway sweep wrote: .csv or .parquet")],
    by: Annotated[str, typer.Option("--by", help=NAMES)] = "latency",
    against: Annotated[
        str, typer.Option("--against", help=f"second axis of the fronts: {NAMES}")
    ] = "memory",
    weights: WeightsOption = None,
    out: Annotated[Path | None, typer.Option("--out", help="save as Markdown")] = None,
    data: Annotated[
        Path | None,
        typer.Option("--data", help="with --out: winners as CSV and a picture, in this folder"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Which planner wins where in a sweep, and its share of the Pareto fronts (hypervolume)."""
    require_distinct([table], {"--out": out})
    from planners.study.fronts import fronts, hypervolumes, of_weights, wins
    from planners.study.fronts import winners as find

    rows = read_table(table)
    rows = rows if weights is None else of_weights(rows, weights)
    best, shares = find(rows, by), hypervolumes(rows, against, by)
    counts, kept = wins(rows, by), fronts(rows, against, by)
    page = report(rows, best, counts, shares, (against, by))
    write_page(out, data, out.stem if out else "", page)
    facts: dict[str, Any] = {
        "wins": json.loads(counts.to_json(orient="index")),
        "hypervolume": json.loads(shares.to_json(orient="records")),
        "front": len(kept),
        "winners": json.loads(best.to_json(orient="records")),
    }
    CommandAnswer(as_json).give(facts, str(page))


def read_table(path: Path) -> pd.DataFrame:
    """A table of `spillway sweep`. Raises `BadInput` for a file that is none."""
    import pandas as pd

    try:
        return pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
    except ImportError:
        raise BadInput(f"{path}: Parquet needs pyarrow: pip install pyarrow") from None
    except FileNotFoundError:
        raise BadInput(f"no file {path}") from None
    except (OSError, ValueError) as error:  # pandas and pyarrow have subclasses of ValueError
        reason = str(error).splitlines()[0]
        raise BadInput(f"{path} is not a table that spillway sweep wrote: {reason}") from error


def report(
    rows: pd.DataFrame,
    winners: pd.DataFrame,
    counts: pd.DataFrame,
    shares: pd.DataFrame,
    metrics: tuple[str, str],
) -> ReportPage:
    """The tables, and what they are."""
    against, by = metrics
    counted = rows["status"].value_counts()
    statuses = ", ".join(f"{n} {status}" for status, n in counted.items())
    by_planner = rows.groupby(["planner", "status"], sort=False).size().unstack(fill_value=0)
    best = matrix(winners, by)
    labels = [name for name in best.columns if name in ("model", "machine")]
    budgets = [name for name in best.columns if name not in labels]
    form = TableForm("winners", labels, budgets, ["winner", "tiles"])
    return ReportPage(
        [
            f"{len(rows)} plans requested, {rows['model'].nunique()} models: {statuses}.",
            str(text_table(by_planner.reset_index())),
            f"## Least {by}, by budget",
            str(text_table(counts.reset_index())),
            f"## Share of the front, {by} against {against}",
            "The hypervolume of a planner's plans, of that of all plans together, on logarithmic\n"
            f"axes from the best to the worst value that a planner has; {by} in {UNITS[by]},\n"
            f"{against} in {UNITS[against]}. A model that a planner has no plan for counts as 0.",
            str(text_table(shares.round({"share": 3}))),
            f"## Winners, by {by}",
            "With what the winner has and, in brackets, how much more the second has (≈: the two\n"
            "are closer than the machine's model is to what it was compared with, so that neither\n"
            "counts as better).",
            LongTable(form, text_table(best)),
        ]
    )


def matrix(winners: pd.DataFrame, by: str) -> pd.DataFrame:
    """Winners with a row for each model (and machine) and a column for each budget.

    Planners go by their name alone where none came with several sets of options.
    """
    several = winners["machine"].nunique() > 1
    variants = {name for text in winners["winner"] for name in text.split("+")} | set(
        winners["second"]
    )
    names = [name.split(":")[0] for name in variants if isinstance(name, str)]
    bare = len(set(names)) == len(names)
    short = (lambda name: name.split(":")[0]) if bare else str

    def cell(winner: str, value: float, second: str | None, margin: float, machine: str) -> str:
        if winner == "none":
            return "–"
        more = ""
        if second and margin == margin:
            preset = presets().get(machine) if by == "latency" else None
            close = preset is not None and not preset.tells_apart(value, value * (1 + margin))
            about = "≈ " if close and preset and preset.seconds_band else ""
            more = f" ({about}{short(second)} +{margin:.0%})"
        return (
            "+".join(map(short, winner.split("+"))) + f" {format_quantity(value, UNITS[by])}{more}"
        )

    columns = (winners[name] for name in ("winner", "value", "second", "margin", "machine"))
    cells = [cell(*row) for row in zip(*columns, strict=True)]
    rows = ["model", "machine"] if several else ["model"]
    wide = winners.assign(told=cells).pivot(index=rows, columns="budget", values="told")
    return wide[list(dict.fromkeys(winners["budget"]))].reset_index()


def text_table(table: pd.DataFrame) -> TextTable:
    """A table as texts; numbers with four digits, nothing where there is none."""
    rows = [[_cell(value) for value in row] for row in table.itertuples(index=False)]
    return TextTable(list(map(str, table.columns)), rows, len(table.columns))


def _cell(value: Any) -> str:
    if value is None or value != value:  # None, or not a number
        return ""
    return f"{value:.4g}" if isinstance(value, float) and value != int(value) else str(value)
