"""The solver's progress as a drawing: the best plan so far and the proven bound over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from app.kinds.registry import kind_of_planner
from app.model.glossary import term
from app.model.history import Moment
from app.model.options import OBJECTIVE
from app.model.units import seconds_text
from planners.core.colours import BLUE, VERMILLION
from planners.core.units import format_bytes

Point = tuple[float, float]
LOOKS = {"best": (BLUE, ""), "bound": (VERMILLION, ' stroke-dasharray="4 3"')}
MEASURES = {"peak": "peak memory"}
LETTER = 5.6  # width of a letter in the drawing's type


def level_points(history: Sequence[Moment], name: str, end_s: float) -> list[Point]:
    """Time and value of a line that stays level until the next moment that has one."""
    points: list[Point] = []
    for moment in history:
        value = moment[name]
        if value is None:
            continue
        if points:
            points.append((moment["at_s"], points[-1][1]))
        points.append((moment["at_s"], float(value)))
    return [*points, (max(end_s, points[-1][0]), points[-1][1])] if points else []


def spark_svg(history: Sequence[Moment], end_s: float, width: int, height: int) -> str:
    """Incumbent (solid) and bound (dashed) as steps over the seconds; empty without any."""
    lines = solver_lines(history, end_s)
    drawn = "".join(_polyline(name, line) for name, line in _placed(lines, width, height).items())
    return _svg(drawn, width, height) if drawn else ""


def solver_svg(history: Sequence[Moment], end_s: float, width: int, height: int) -> str:
    """The same with sizes at the left, seconds below, and the gap between both at the right."""
    lines = solver_lines(history, end_s)
    if not lines:
        return ""
    values = [y for line in lines.values() for _, y in line]
    words = [format_bytes(round(value)) for value in (max(values), min(values))]
    left, right, below = LETTER * max(map(len, words)) + 8, 62, 15
    inner = _placed(lines, width - left - right, height - below)
    place = f'transform="translate({left:.0f} 0)"'
    drawn = f"<g {place}>{_gap(inner)}{''.join(_polyline(n, line) for n, line in inner.items())}"
    drawn += _gap_words(inner, history[-1], width - left - right) + "</g>"
    bottom = height - below
    drawn += _words(left - 4, 10, words[0], "end")
    drawn += _words(left - 4, bottom - 1, words[1], "end") if words[1] != words[0] else ""
    drawn += f'<path d="M{left:.0f} 0V{bottom}H{width - right}" class="axis"/>'
    drawn += _words(left, height - 3, "0 s", "start")
    drawn += _words(width - right, height - 3, seconds_text(end_s), "end")
    return _svg(drawn, width, height)


def solver_lines(history: Sequence[Moment], end_s: float) -> dict[str, list[Point]]:
    """The lines that have points."""
    lines = {name: level_points(history, name, end_s) for name in LOOKS}
    return {name: line for name, line in lines.items() if line}


def _placed(
    lines: Mapping[str, list[Point]], width: float, height: float
) -> dict[str, list[Point]]:
    """The lines in pixels."""
    points = [point for line in lines.values() for point in line]
    if not points:
        return {}
    stop = max(x for x, _ in points) or 1.0
    high = max(y for _, y in points) or 1.0
    span = (high - min(y for _, y in points)) or high

    def place(point: Point) -> Point:
        return 2 + point[0] / stop * (width - 4), 3 + (high - point[1]) / span * (height - 6)

    return {name: [place(point) for point in line] for name, line in lines.items()}


def _polyline(name: str, line: Sequence[Point]) -> str:
    colour, dash = LOOKS[name]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners(line))
    return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>'


def corners(line: Sequence[Point]) -> list[Point]:
    """The points of a line in tenths of a pixel at which it turns: a long search has thousands."""
    points: list[Point] = []
    for x, y in line:
        point = (round(x, 1), round(y, 1))
        if points[-1:] == [point]:
            continue
        if len(points) > 1 and any(points[-2][k] == points[-1][k] == point[k] for k in (0, 1)):
            points.pop()
        points.append(point)
    return points


def _gap(lines: Mapping[str, Sequence[Point]]) -> str:
    """The area between both lines from where both exist: what a better plan might still save."""
    if len(lines) < 2:
        return ""
    start = max(line[0][0] for line in lines.values())
    best, bound = (_from(lines[name], start) for name in LOOKS)
    around = corners([*best, *reversed(bound)])
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in around)
    return f'<polygon points="{points}" fill="{BLUE}" fill-opacity="0.12"/>'


def _from(line: Sequence[Point], start: float) -> list[Point]:
    """A line from `start` on."""
    level = [y for x, y in line if x <= start][-1]
    return [(start, level), *(point for point in line if point[0] > start)]


def _gap_words(lines: Mapping[str, Sequence[Point]], moment: Moment, width: float) -> str:
    gap = gap_of(moment["best"], moment["bound"])
    if gap is None:
        return ""
    middle = sum(line[-1][1] for line in lines.values()) / len(lines)
    return _words(width + 5, middle + 4, f"gap {gap:.1%}" if gap else "no gap", "start", "gap")


def _words(x: float, y: float, text: str, anchor: str, kind: str = "tick") -> str:
    at = f'x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}"'
    return f'<text {at} class="{kind}">{escape(text)}</text>'


def _svg(drawn: str, width: int, height: int) -> str:
    return (
        f'<svg class="solver" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        f' role="img" aria-label="best plan and bound over time">{drawn}</svg>'
    )


def gap_of(best: int | None, bound: int | None) -> float | None:
    """How far the best plan may be from the optimum, as a share of it; None where unknown."""
    if best is None or bound is None:
        return None
    return max(0.0, (best - bound) / best) if best else 0.0


def progress_text(progress: Mapping[str, Any]) -> str:
    """Stage, seconds, best so far, bound and the gap between them."""
    best, bound = progress.get("incumbent_bytes"), progress.get("bound_bytes")
    parts = [f"<b>{escape(str(progress.get('stage', '')))}</b>"]
    parts.append(f"{progress.get('at_s') or progress.get('elapsed_s') or 0.0:.1f} s")
    if best is not None:
        parts.append(f"best {format_bytes(best)}")
    if bound is not None:
        parts.append(f"bound {format_bytes(bound)}")
    if (gap := gap_of(best, bound)) is not None:
        parts.append(f"gap {gap:.1%}")
    return " · ".join(parts)


def measure(problem: Mapping[str, Any]) -> str:
    """The quantity that the solver's bytes measure."""
    own_measure = kind_of_planner(problem.get("planner", "")).measure
    objective = problem.get("options", {}).get(OBJECTIVE, "")
    return own_measure or MEASURES.get(objective, "spill traffic")


def plot_html(history: Sequence[Moment], end_s: float, of: str, width: int, height: int) -> str:
    """The drawing with its key; or a line where the solver has reported nothing yet."""
    svg = solver_svg(history, end_s, width, height)
    if not svg:
        return '<div class="quiet">No plan and no bound yet.</div>'
    signs = zip(
        (f"<b>━</b> {term('best plan', 'incumbent')}", f"<i>╌</i> proven {term('bound')}"),
        LOOKS,
        strict=True,
    )
    values = ((sign, history[-1][name]) for sign, name in signs)
    key = [f"{sign} {format_bytes(value)}" for sign, value in values if value is not None]
    return f'<div class="key">{escape(of)}: &nbsp; {" &nbsp; ".join(key)}</div>{svg}'


def solver_html(history: Sequence[Moment], now: Mapping[str, Any], of: str) -> str:
    """The panel on how the plan came about: the drawing, and how long each stage took."""
    if not history:
        return '<div class="quiet">The plan at first paint is stored: no solver ran for it.</div>'
    end_s = max(now.get("at_s", 0.0), history[-1]["at_s"])
    rows = "".join(
        f"<tr><td>{escape(stage)}</td><td>{seconds_text(spent)}</td></tr>"
        for stage, spent in stages(history, end_s)
    )
    return f"{plot_html(history, end_s, of, 310, 100)}<table>{rows}</table>"


def stages(history: Sequence[Moment], end_s: float) -> list[tuple[str, float]]:
    """Each stage in order of its start, with the seconds that it took in all."""
    spent: dict[str, float] = {}
    times = [moment["at_s"] for moment in history[1:]] + [end_s]
    for moment, until in zip(history, times, strict=True):
        spent[moment["stage"]] = spent.get(moment["stage"], 0.0) + max(0.0, until - moment["at_s"])
    return list(spent.items())
