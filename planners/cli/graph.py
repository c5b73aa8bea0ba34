"""Commands about one graph: graph, budgets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import planners as sp
from planners.cli.app import AsJson, app
from planners.cli.files import require_distinct
from planners.cli.options import (
    FoldPadding,
    GranularityOption,
    Input,
    Model,
    Parameters,
    WeightsOption,
    Width,
    load,
    weights_given,
)
from planners.cli.output import CommandAnswer, print_table, size_text, with_notes
from planners.core.caveats import caveats
from planners.core.weights import COUNTED


@app.command()
def graph(
    model: Model,
    out: Annotated[Path | None, typer.Option("--out", help="save the graph as JSON")] = None,
    shape: Input = None,
    granularity: GranularityOption = "fused",
    width: Width = None,
    fold_padding: FoldPadding = True,
    as_json: AsJson = False,
) -> None:
    """Import a model, and print its operators or save its graph as JSON."""
    require_distinct([model], {"--out": out})
    network = load(model, shape, granularity, width, fold_padding)
    if out is not None:
        network.save(out)
    facts = {
        "model": network.name,
        "operators": len(network.operators),
        "tensors": len(network.tensors),
        "macs": network.macs,
        "parameters": network.parameter_count,
        "bytes_per_element": network.bytes_per_element,
        "element_types": network.element_types,
    }
    facts |= {"out": str(out)} if out is not None else {}
    shown = facts | {"bytes_per_element": network.width_words}
    shown["element_types"] = ", ".join(f"{n} {name}" for name, n in network.element_types.items())
    gaps = caveats(network)
    text = print_table(shown) if out is not None else f"{print_table(shown)}\n\n{_rows(network)}"
    CommandAnswer(as_json).give(facts | gaps.facts(), with_notes(text, gaps))


def _rows(network: sp.Graph) -> str:
    """A line an operator: its name, its kind, the shapes of what it gives, and its MACs."""
    rows = [("operator", "kind", "gives", "MACs")]
    for op in network.operators:
        shapes = ", ".join("x".join(map(str, network.tensors[n].shape)) or "()" for n in op.outputs)
        rows.append((op.name, op.kind, shapes, f"{op.macs:,}"))
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        f"{name:<{wide[0]}}  {kind:<{wide[1]}}  {shapes:<{wide[2]}}  {macs:>{wide[3]}}"
        for name, kind, shapes, macs in rows
    )


@app.command()
def budgets(
    model: Model,
    shape: Input = None,
    granularity: GranularityOption = "fused",
    width: Width = None,
    fold_padding: FoldPadding = True,
    parameters: Parameters = False,
    weights: WeightsOption = None,
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", min=0.001, help="time limit for MP, in seconds")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print MR, MH and MP: the largest operator, the mean, and the least peak of all orders."""
    handling = weights_given(parameters, weights)
    network = load(model, shape, granularity, width, fold_padding)
    b = sp.budgets(network, parameters=handling == COUNTED, time_limit=time_limit)
    facts = {
        "model": network.name,
        **{name: getattr(b, name) for name in "MR MH MP MP_proven MP_bound default_peak".split()},
        "operators": len(network.operators),
        "binding_operator": b.binding_operator,
        "parameters_counted": handling == COUNTED,
        "weights": handling,
        "bytes_per_element": network.bytes_per_element,
    }
    sizes: dict[str, Any] = {
        k: size_text(facts[k]) for k in ("MR", "MH", "MP", "MP_bound", "default_peak")
    }
    sizes["bytes_per_element"] = network.width_words
    gaps = caveats(network)
    text = with_notes(print_table(facts | sizes), gaps)
    CommandAnswer(as_json).give(facts | gaps.facts(), text)
