"""A page with one plot and nothing else, to hold the explorer's first paint against."""

import holoviews as hv
import panel as pn

pn.extension()
hv.extension("bokeh")
pn.pane.HoloViews(hv.Rectangles([(k, k, k + 1, k + 2) for k in range(40)])).servable()
