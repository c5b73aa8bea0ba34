"""The models that the browser's scripts move, fill and listen to, by their names there."""

from __future__ import annotations

from bokeh.model import Model

from app.views.dag.view import DagView
from app.views.memory.address_map import AddressMap
from app.views.memory.occupancy import Occupancy
from app.views.memory.ring import RingView
from app.views.memory.run_bars import RunBars
from app.views.timing.timeline import TimelineView


def handles(
    dag: DagView, memory: AddressMap, occupancy: Occupancy, lanes: TimelineView
) -> dict[str, Model]:
    """Of the views that every plan has."""
    return {
        "map_plot": memory.figure,
        "held_plot": occupancy.figure,
        "map_band": memory.cursor,
        "held_band": occupancy.cursor,
        "time_band": lanes.cursor,
        "times": lanes.times,
        "edges": memory.edges,
        "where": dag.where,
        "ring": dag.ring,
        "dag_range": dag.x_range,
        "nodes": dag.nodes,
        "curves": dag.curves,
        "chosen_nodes": dag.chosen,
        "chosen_curves": dag.chosen_curves,
        "tabs": dag.tabs,
        "frames": dag.frames,
        **handles_over_time(memory, lanes),
    }


def handles_over_time(memory: AddressMap, lanes: TimelineView) -> dict[str, Model]:
    """Of the views that a plan beside the one on screen has too."""
    return {
        "rects": memory.source,
        "pieces": memory.pieces,
        "chosen_rects": memory.chosen,
        "map_groups": memory.groups.source,
        "chosen_map_groups": memory.groups.chosen,
        "lanes": lanes.source,
        "lanes_range": lanes.x_range,
        "chosen_lanes": lanes.chosen,
        "lane_groups": lanes.groups.source,
        "chosen_lane_groups": lanes.groups.chosen,
    }


def pool_handles(ring: RingView, bars: RunBars) -> dict[str, Model]:
    """Of the views that only plans in a pool have."""
    return {
        "wedges": ring.source,
        "bars": bars.source,
        "between": bars.between,
        "chosen_bars": bars.chosen,
    }
