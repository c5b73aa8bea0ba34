"""What each engine does, and when."""

from __future__ import annotations

import holoviews as hv
import numpy as np

from planners.core.colours import BLUE, GREEN, ORANGE, PURPLE
from planners.core.plan import Plan, assert_plan
from planners.plots.style import FORMAT_SECONDS, HEIGHT, WIDTH, dressed, largest, tips, titled
from planners.simulator.simulate import simulate

COLOURS = {"compute": BLUE, "dma_in": GREEN, "dma_out": ORANGE, "storage": PURPLE}


def timeline(plan: Plan) -> hv.Rectangles:
    """A lane for each engine that works, with a bar for each instruction, in seconds.

    Columns: engine, what it runs or moves, seconds, seconds that the engine stood before. Raises
    `InvalidPlan`.
    """
    assert_plan(plan)
    trace = simulate(plan)
    lanes = {engine: lane for lane, engine in enumerate(trace.busy_s)}
    intervals = trace.intervals
    lasting = np.array([item.stop_s - item.start_s for item in intervals])
    drawn = largest(lasting)
    rows = []
    for k in drawn.tolist():
        item = intervals[k]
        lane = lanes[item.engine]
        colour = COLOURS.get(item.engine, PURPLE)
        sides = (item.start_s, lane - 0.4, item.stop_s, lane + 0.4)
        rows.append((*sides, item.engine, item.label, lasting[k], item.stall_s, colour))
    bars = hv.Rectangles(
        rows,
        kdims=[
            hv.Dimension("begins", label="time", unit="s"),
            hv.Dimension("below", label="engine"),
            "ends",
            "above",
        ],
        vdims=["engine", "runs", "lasts_s", "waited_s", "colour"],
        label=titled(f"{plan.graph.name} on {plan.machine.title}", len(drawn), len(intervals)),
    )
    return dressed(
        bars,
        color="colour",
        line_color=None,
        width=WIDTH,
        height=HEIGHT,
        yticks=[(lane, engine) for engine, lane in lanes.items()],
        xformatter=FORMAT_SECONDS,
        ylim=(-0.6, len(lanes) - 0.4),
        invert_yaxis=True,
        tools=["hover"],
        hover_tooltips=tips(
            ("engine", "engine"), ("", "runs"), ("seconds", "lasts_s"), ("waited", "waited_s")
        ),
    )
