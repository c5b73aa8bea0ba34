"""Views of plans as HoloViews objects, for notebooks and Panel apps of one's own.

>>> import planners as sp
>>> plan = sp.plan(sp.load("squeezenet1_1"), budget="1MiB")
>>> view = sp.plots.address_map(plan) + sp.plots.occupancy(plan)
"""

from planners.plots.front import front
from planners.plots.memory import address_map, occupancy
from planners.plots.network import graph
from planners.plots.still import show_in_notebooks
from planners.plots.time import timeline

show_in_notebooks()

__all__ = ["address_map", "front", "graph", "occupancy", "timeline"]
