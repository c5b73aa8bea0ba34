"""From a plan to a file: checked, timed, drawn, described, and written whole or not at all."""

from __future__ import annotations

import base64
import gzip
import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from bokeh.document import Document
from bokeh.embed import components
from bokeh.model import Model

import planners as sp
from app.display.displayed_plan import DisplayedPlan, show
from app.display.file_names import file_stem
from app.kinds.bundles import checked_bundled, is_bundled
from app.links.url import problem_of, to_query
from app.model.packing import packed
from app.model.state import Look, ProblemFields
from app.outputs.scripts import plan_as_python
from app.outputs.standalone.contents import contents
from app.outputs.standalone.figures import Figures
from app.outputs.standalone.page import ALONE, Parts, Surroundings, page_text
from app.widgets.palette import DARK, LIGHT
from planners.core.files import write_text

THEMES = ("auto", "light", "dark")
Progress = Callable[[str, float], None]
MOST_BYTES = 10_000_000
MOST_PLAN_BYTES = 4_000_000
STEPS = (2000, 500, 100)
"""For how many steps there is text: fewer, where more make the file too large."""


@dataclass(frozen=True)
class PageLook:
    """A checked plan and how it is viewed; whatever else is known of it is drawn too.

    `fields` are those of the problem that it answers, `points` of a sweep, `fronts` of delay
    against memory, `why` of fused groups: as the explorer has them, or empty.
    """

    shown: DisplayedPlan
    look: Look
    theme: Literal["auto", "light", "dark"] = "auto"
    fields: Mapping[str, Any] = field(default_factory=dict)
    points: Sequence[dict[str, Any]] = ()
    fronts: Mapping[str, Any] = field(default_factory=dict)
    why: Mapping[str, Any] = field(default_factory=dict)
    around: Surroundings = ALONE


def seen_of(plan: sp.Plan, look: Look | None = None, **more: Any) -> PageLook:
    """A plan as it is viewed, or as the explorer shows it at first.

    Raises `InvalidPlan` where its check fails.
    """
    text = json.dumps(plan.to_json(), separators=(",", ":"))
    if is_bundled(plan):
        shown = checked_bundled(plan)
        shown.late.append(packed(text))
    else:
        shown = show(text)
    first = Look(step=shown.opening_step, expanded=sorted(shown.opened))
    return PageLook(shown, look or first, **more)


def write_html(
    plan: sp.Plan,
    path: str | Path,
    *,
    theme: Literal["auto", "light", "dark"] = "auto",
    progress: Progress | None = None,
) -> int:
    """Write a plan as one HTML file that opens without a network; its size in bytes.

    `theme` is what the page opens with: `auto` follows the reader's system. `progress` hears
    what is done and which part of all. Raises `InvalidPlan` where the plan's check fails, and
    `BadInput` for another theme or where the file cannot be written.
    """
    if theme not in THEMES:
        raise sp.BadInput(f"{theme!r} is not a theme; they are {', '.join(THEMES)}")
    report = progress or (lambda _stage, _share: None)
    report("checking every byte", 0.0)
    text = page_html(seen_of(plan, theme=theme), report)
    write_text(path, text)
    return len(text.encode())


def page_html(seen: PageLook, progress: Progress | None = None) -> str:
    """The page of a plan that was checked before."""
    report = progress or (lambda _stage, _share: None)
    report("drawing", 0.1)
    plan = _embedded(seen.shown)
    text = ""
    for most_steps in STEPS:
        text = page_text(seen.shown, _parts(seen, plan, most_steps, report))
        if len(text.encode()) <= MOST_BYTES or seen.shown.steps <= most_steps:
            break
    report("done", 1.0)
    return text


def _parts(seen: PageLook, plan: str, most_steps: int, report: Progress) -> Parts:
    shown, look = seen.shown, seen.look
    figures = Figures(DARK if seen.theme == "dark" else LIGHT)
    figures.show(shown, look, seen.points, seen.fronts, seen.why)
    report("describing every step", 0.3)
    data, left_out = contents(
        shown, look, figures, seen.why, most_steps,
        lambda share: report("describing every step", 0.3 + 0.5 * share),
    )  # fmt: skip
    report("writing the page", 0.8)
    script, places = embedded(figures.roots(shown, seen.points, seen.fronts))
    if not plan:
        left_out.append("The plan's own JSON, which is too large: save it from the explorer.")
    problem = ProblemFields(**(seen.fields or problem_of(shown.plan)))
    return Parts(
        script=script,
        places=places,
        data={**data, "theme": seen.theme},
        plan=plan,
        python=plan_as_python(shown.plan, f"{file_stem(shown)}.html"),
        query=to_query(problem, look),
        left_out=left_out,
        serial=look.serial,
        theme=seen.theme,
        around=seen.around,
    )


def embedded(figures: Mapping[str, Model]) -> tuple[str, dict[str, str]]:
    """A script that draws figures, and the place of each in a page.

    In a document of their own: Bokeh would begin from its current one, which after an error in any
    session's callback is that session's, even once it has ended.
    """
    document = Document()
    for figure in figures.values():
        document.add_root(figure)
    with _unwarned():
        script, places = components(dict(figures), wrap_script=False)
    return script, places


@contextmanager
def _unwarned() -> Iterator[None]:
    """Bokeh warns that Python will not receive taps: the page's own script does."""

    def other(record: logging.LogRecord) -> bool:
        return "real Python" not in record.getMessage()

    log = logging.getLogger("bokeh.embed.util")
    log.addFilter(other)
    try:
        yield
    finally:
        log.removeFilter(other)


def _embedded(shown: DisplayedPlan) -> str:
    """The plan's JSON, compressed, as text; empty where it is too large."""
    text = base64.b64encode(gzip.compress(shown.text.encode(), 6, mtime=0)).decode()
    return text if len(text) <= MOST_PLAN_BYTES else ""
