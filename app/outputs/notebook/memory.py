"""The address map and what is held, step by step, as one drawing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.display.banks import banks_of, several
from app.display.displayed_plan import DisplayedPlan
from app.kinds.map_rows import MapRows, Row
from app.kinds.registry import kind_of
from planners.core.axis_break import drawn_bytes, free_above
from planners.core.colours import BLUE, STAYS, VERMILLION
from planners.core.svg import (
    LEFT,
    RIGHT,
    WIDTH,
    Paints,
    Scale,
    box,
    byte_axis,
    drawing,
    fitting,
    legend,
    line,
    number_axis,
    text,
)
from planners.core.units import format_bytes

MOST = 1200  # rectangles, and how many of them have full hovers: limits the size of outputs
TOLD = 300
COLUMNS = 360  # of held bytes: one column per step, or for several
MAP, HELD, BAND = 250, 86, 17
ONE_OF_SEVERAL = 150  # a map's height where each memory has one
EDGE = WIDTH - RIGHT


def memory_html(shown: DisplayedPlan, paints: Paints) -> str:
    """Legend and drawing of a plan's on-chip memory."""
    kind = kind_of(shown)
    if several(shown):
        return _several_html(shown, paints)
    source = kind.rows(shown, shown.memories[0])
    most = MOST if kind.fine else 2 * TOLD
    rows, largest_note = largest(source.rows(0, shown.steps), most)
    if isinstance(source, MapRows) and largest_note and source.bundled:
        rows, largest_note = largest(source.bundles, most)
        largest_note = largest_note or "pieces are bundled"
    steps = Scale(0, shown.steps, LEFT, EDGE)
    top = BAND if kind.banded else 4
    frame = MapFrame(top, MAP, *kind.limit(shown), shown.report.extent_bytes)
    drawn = drawing(
        (WIDTH, top + MAP + HELD + 34),
        f"Address map of {shown.graph.name}: {len(rows)} stays in {shown.steps} steps",
        _bands(shown, steps) if kind.banded else "",
        _map(shown, rows, (steps, paints), frame),
        held_svg(shown.report.occupancy, shown.plan.program.steps, steps, top + MAP + 18, shown),
        cursor(shown.opening_step, steps, top, top + MAP + 18 + HELD),
        kind="sw-memory",
    )
    note = f'<span class="sw-note">{largest_note}</span>' if largest_note else ""
    key = legend(paints, kind.looks, (row["stay"] for row in rows))
    return f"<h4>Address map{note}</h4>" + key + drawn


@dataclass(frozen=True, slots=True)
class MapFrame:
    """Where a map is drawn, its limit with its name, and the highest address in use."""

    top: float
    height: float
    limit_bytes: int
    name: str
    used_bytes: int


def _several_html(shown: DisplayedPlan, paints: Paints) -> str:
    """A map of each memory, the fastest first, and what they hold together."""
    steps, at = Scale(0, shown.steps, LEFT, EDGE), 4
    parts: list[str] = []
    every: list[Row] = []
    note = ""
    for bank in banks_of(shown):
        rows, left_out = largest(
            kind_of(shown).rows(shown, bank.name).rows(0, shown.steps), 2 * TOLD
        )
        frame = MapFrame(at, ONE_OF_SEVERAL, bank.size_bytes, bank.name, bank.extent_bytes)
        parts.append(_map(shown, rows, (steps, paints), frame))
        at += ONE_OF_SEVERAL + BAND
        every += rows
        note = left_out or note
    names = " · ".join(bank.name for bank in banks_of(shown))
    drawn = drawing(
        (WIDTH, at + HELD + 34),
        f"Address maps of {shown.graph.name}: {len(every)} stays in {shown.steps} steps",
        *parts,
        held_svg(shown.report.occupancy, shown.plan.program.steps, steps, at + 18, shown),
        cursor(shown.opening_step, steps, 4, at + 18 + HELD),
        kind="sw-memory",
    )
    about = f"{names}; below, bytes on chip in all of them" + (f"; {note}" if note else "")
    key = legend(paints, kind_of(shown).looks, (row["stay"] for row in every))
    return f'<h4>Address maps<span class="sw-note">{about}</span></h4>{key}{drawn}'


def largest(rows: Sequence[Row], most: int) -> tuple[list[Row], str]:
    """The rows of largest area, in their order, and in words what is left out."""
    if len(rows) <= most:
        return list(rows), ""
    areas = [(r["right"] - r["left"]) * (r["top"] - r["bottom"]) for r in rows]
    first = sorted(sorted(range(len(rows)), key=lambda i: -areas[i])[:most])
    return [rows[i] for i in first], f"the {most} largest of {len(rows):,} pieces"


def _map(
    shown: DisplayedPlan, rows: Sequence[Row], across: tuple[Scale, Paints], frame: MapFrame
) -> str:
    steps, paints = across
    limit, name = frame.limit_bytes, frame.name
    high = max([drawn_bytes(frame.used_bytes, limit), *(row["top"] for row in rows)])
    bytes_ = Scale(0, high * 1.03, frame.top + frame.height, frame.top)
    parts = [byte_axis(bytes_, EDGE)]
    by_look: dict[tuple[str, str, str], list[str]] = {}
    numbers: dict[str, int] = {}
    full = {id(row) for row in largest(rows, 2 * TOLD if len(rows) <= 2 * TOLD else TOLD)[0]}
    for row in rows:
        look = (row["colour"], row["hatch"], row["story"])
        title = _told(row) if id(row) in full else row["tensor"]
        by_look.setdefault(look, []).append(_stay(row, title, (steps, bytes_), numbers))
    kind = "sw-stays sw-strips" if kind_of(shown).fine else "sw-stays"
    for (colour, hatch, story), shapes in by_look.items():
        fill = paints.fill(colour, hatch)
        about = f'data-about="{story}" data-colour="{colour}"'
        parts.append(f'<g class="{kind}" fill="{fill}" {about}>{"".join(shapes)}</g>')
    parts += [_label(row, steps, bytes_) for row in rows]
    parts += [_mark(row, steps, bytes_) for row in rows]
    y = bytes_(limit) if limit <= high else frame.top
    words = f"{name} {format_bytes(limit)}"
    if limit <= high:
        parts.append(line(LEFT, y, EDGE, y, "sw-limit"))
    else:
        of = f"the {name}" if name == "budget" else name
        words = f"↑ {free_above(frame.used_bytes, limit, of)}"
    parts.append(text(EDGE - 3, y + 11, words, "sw-over", "end"))
    return f'<g class="sw-map">{"".join(parts)}</g>'


def _told(row: Row) -> str:
    return "\n".join([row["tensor"], f"{row['what']}, {row['size']}", row["address"], row["steps"]])


def _stay(row: Row, told: str, scales: tuple[Scale, Scale], numbers: dict[str, int]) -> str:
    steps, bytes_ = scales
    x, y = steps(row["left"]), bytes_(row["top"])
    number = numbers.setdefault(row["tensor"], len(numbers))
    return box(x, y, steps(row["right"]) - x, bytes_(row["bottom"]) - y, told, data_n=number)


def _label(row: Row, steps: Scale, bytes_: Scale) -> str:
    wide = steps(row["right"]) - steps(row["left"])
    if bytes_(row["bottom"]) - bytes_(row["top"]) < 12:
        return ""
    words = fitting(row["tensor"], wide)
    return (
        text(steps(row["label_x"]), bytes_(row["label_y"]) + 3.5, words, "sw-on", "middle")
        if (words)
        else ""
    )


def _mark(row: Row, steps: Scale, bytes_: Scale) -> str:
    """A triangle: up where something leaves the chip, down where it comes back."""
    y, parts = bytes_(row["label_y"]), []
    if row["origin"] == "retrieve":
        shape = f"M{steps(row['left']) - 5:.4g} {y - 4:.4g}h10l-5 8z"
        parts.append(f'<path class="sw-mark" fill="{STAYS["came back"][0]}" d="{shape}"/>')
    if row["ending"] in ("spill", "drop"):
        shape = f"M{steps(row['right']) - 5:.4g} {y + 4:.4g}h10l-5-8z"
        parts.append(f'<path class="sw-mark" fill="{STAYS["leaves"][0]}" d="{shape}"/>')
    return "".join(parts)


def _bands(shown: DisplayedPlan, steps: Scale) -> str:
    """What runs together, over its steps."""
    parts = []
    for band in kind_of(shown).bands(shown, {}):
        x = steps(band.start_step)
        wide = steps(band.stop_step) - x
        title = f"{band.name}\n{', '.join(band.operators)}\n{band.line}"
        parts.append(box(x, 1, wide, BAND - 4, title, fill=band.colour, stroke="var(--sw-panel)"))
        if wide > 6.4 * len(band.name) + 3:
            parts.append(text(x + 3, BAND - 6, band.name, "sw-on"))
    return f'<g class="sw-groups">{"".join(parts)}</g>'


def held_svg(
    held: Sequence[int],
    names: Sequence[str],
    steps: Scale,
    top: float,
    shown: DisplayedPlan | None = None,
    limits: Sequence[tuple[str, int]] = (),
) -> str:
    """Bytes held in each step, or the most of several; the peak in another colour.

    With a plan, each column also has the seconds of its steps, for the cursor of the timeline.
    """
    peak = max(held, default=0)
    high = max([peak, *(size for _, size in limits)]) * 1.12
    bytes_ = Scale(0, high, top + HELD, top)
    parts = [byte_axis(bytes_, EDGE, 3)]
    each = -(-len(held) // COLUMNS)
    for start in range(0, len(held), each):
        stop = min(start + each, len(held))
        parts.append(_column(held, names, (start, stop), (steps, bytes_), shown, peak))
    where = list(held).index(peak) if peak else 0
    anchor = "end" if where > len(held) / 2 else "start"
    words = f"▾ peak {format_bytes(peak)}, step {where + 1}"
    parts.append(text(steps(where + 0.5), bytes_(peak) - 3, words, "sw-over", anchor))
    for size in dict.fromkeys(size for _, size in limits):
        name = " = ".join(name for name, other in limits if other == size)
        y = bytes_(size)
        parts.append(line(LEFT, y, EDGE, y, "sw-limit"))
        parts.append(text(EDGE - 3, y - 3, f"{name} {format_bytes(size)}", "sw-over", "end"))
    parts.append(number_axis(steps, top + HELD, "step"))
    return f'<g class="sw-held">{"".join(parts)}</g>'


def _column(
    held: Sequence[int],
    names: Sequence[str],
    steps: tuple[int, int],
    scales: tuple[Scale, Scale],
    shown: DisplayedPlan | None,
    peak: int,
) -> str:
    (start, stop), (across, bytes_) = steps, scales
    most = max(held[start:stop])
    number = f"step {start + 1}" if stop == start + 1 else f"steps {start + 1}–{stop}"
    of_one = shown is not None and not several(shown)
    share = f", {most / shown.plan.budget_bytes:.0%} of the budget" if shown and of_one else ""
    title = f"{number}: {names[start]}\n{format_bytes(most)} held{share}"
    x, y = across(start), bytes_(most)
    more: dict[str, object] = {"fill": VERMILLION if most == peak else BLUE, "data_s": start + 1}
    if shown:
        more["data_t"] = f"{shown.step_seconds[start][0]:.5g} {shown.step_seconds[stop - 1][1]:.5g}"
    wide, high = across(stop) - x, bytes_(0) - y
    return box(x, y, wide, high, title, "sw-step", **more)


def cursor(step: int, steps: Scale, top: float, bottom: float) -> str:
    """The cursor at a step; a script moves it."""
    x = steps(step)
    return box(x, top, steps(step + 1) - x, bottom - top, kind="sw-cur")
