"""What `panel serve app/main.py` serves."""

import sys
from pathlib import Path

root = str(Path(__file__).resolve().parent.parent)
if root not in sys.path:  # a checkout that is not installed: Panel puts only app/ on the path
    sys.path.insert(0, root)

import panel as pn  # noqa: E402
from bokeh.settings import settings  # noqa: E402

from app.page import template  # noqa: E402
from app.server.install import install_guards  # noqa: E402
from planners.core.gc_pause import settle  # noqa: E402

pn.extension()
settings.perform_document_validation.set_value(False)  # takes a tenth of the first paint
install_guards()
settle()
assert pn.state.curdoc is not None, "serve this file: panel serve app/main.py"
template().servable()
