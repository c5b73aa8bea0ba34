"""What `panel serve app/main.py` serves."""

import sys
from pathlib import Path

root = str(Path(__file__).resolve().parent.parent)
if root not in sys.path:  # a checkout that is not installed: Panel puts only app/ on the path
    sys.path.insert(0, root)

import panel as pn  # noqa: E402
from bokeh.settings import settings  # noqa: E402

from app.page import template  # noqa: E402
from planners.core.garbage import no_collection, settle  # noqa: E402

pn.extension("filedropper")
settings.perform_document_validation.set_value(False)  # takes a tenth of the first paint
settle()
page = pn.state.curdoc
assert page is not None, "serve this file: panel serve app/main.py"
with no_collection(), page.models.freeze():  # collect models once, not for each root
    template().servable()
