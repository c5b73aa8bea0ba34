"""The solver's progress as a drawing: the best plan so far and the proven bound over time."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from app.views.palette import BLUE, VERMILLION
from app.views.units import seconds_text
from planners.units import format_bytes

Moment = dict[str, Any]
Point = tuple[float, float]


def level_points(history: Sequence[Moment], name: str, end_s: float) -> list[Point]:
    """Time and value of a line that stays level until the next moment that has one."""
    found: list[Point] = []
    for moment in history:
        value = moment[name]
        if value is None:
            continue
        if found:
            found.append((moment["at_s"], found[-1][1]))
        found.append((moment["at_s"], float(value)))
    return [*found, (max(end_s, found[-1][0]), found[-1][1])] if found else []


def solver_svg(history: Sequence[Moment], end_s: float, width: int, height: int) -> str:
    """Incumbent (solid) and bound (dashed) as steps over the seconds; empty without any."""
    lines = {name: level_points(history, name, end_s) for name in ("best", "bound")}
    points = [point for line in lines.values() for point in line]
    if not points:
        return ""
    start, stop = min(x for x, _ in points), max(end_s, *(x for x, _ in points))
    high = max(y for _, y in points) or 1.0
    low = min(y for _, y in points)
    span = (high - low) or high

    def place(point: Point) -> str:
        x = 2 + (point[0] - start) / ((stop - start) or 1.0) * (width - 4)
        y = 3 + (high - point[1]) / span * (height - 6)
        return f"{x:.1f},{y:.1f}"

    drawn = "".join(
        f'<polyline points="{" ".join(map(place, line))}" fill="none" stroke="{colour}"'
        f' stroke-width="2"{dash}/>'
        for (_, line), (colour, dash) in zip(lines.items(), LOOKS, strict=True)
        if line
    )
    return (
        f'<svg class="solver" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        f' role="img" aria-label="best and bound over time">{drawn}</svg>'
    )


LOOKS = ((BLUE, ""), (VERMILLION, ' stroke-dasharray="4 3"'))


def progress_text(progress: Moment) -> str:
    """Stage, seconds, best so far, bound and the gap between them."""
    best, bound = progress.get("incumbent_bytes"), progress.get("bound_bytes")
    parts = [f"<b>{escape(str(progress.get('stage', '')))}</b>"]
    parts.append(f"{progress.get('at_s') or progress.get('elapsed_s') or 0.0:.1f} s")
    if best is not None:
        parts.append(f"best {format_bytes(best)}")
    if bound is not None:
        parts.append(f"bound {format_bytes(bound)}")
    if best is not None and bound is not None:
        parts.append(f"gap {(best - bound) / best if best else 0.0:.1%}")
    return " · ".join(parts)


def solver_html(history: Sequence[Moment], now: Moment) -> str:
    """The panel on how the plan came about: the drawing, and how long each stage took."""
    if not history:
        return '<div class="quiet">The plan at first paint is stored: no solver ran for it.</div>'
    end_s = max(now.get("at_s", 0.0), history[-1]["at_s"])
    svg = solver_svg(history, end_s, 300, 84)
    legend = "<b>━</b> best plan so far &nbsp; <i>╌</i> proven bound (spill traffic)"
    values = [m[n] for m in history for n in ("best", "bound") if m[n] is not None]
    scale = f"{format_bytes(min(values))} … {format_bytes(max(values))}" if values else ""
    about = f'<div class="key">{legend}</div>{svg}<div class="quiet">{scale}</div>' if svg else ""
    rows = "".join(
        f"<tr><td>{escape(stage)}</td><td>{seconds_text(spent)}</td></tr>"
        for stage, spent in stages(history, end_s)
    )
    return f"{about}<table>{rows}</table>"


def stages(history: Sequence[Moment], end_s: float) -> list[tuple[str, float]]:
    """Each stage in order of its start, with the seconds that it took in all."""
    spent: dict[str, float] = {}
    times = [moment["at_s"] for moment in history[1:]] + [end_s]
    for moment, until in zip(history, times, strict=True):
        spent[moment["stage"]] = spent.get(moment["stage"], 0.0) + max(0.0, until - moment["at_s"])
    return list(spent.items())
