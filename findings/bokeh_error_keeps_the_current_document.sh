#!/usr/bin/env bash
# bokeh 3.9.2
# Where a callback of a document raises, curdoc() of the whole process, in every thread, stays at that
# document: the context in which callbacks run is left without being undone, however the error is
# caught. Once the document has gone, curdoc() raises RuntimeError; while it is kept but its
# session has ended, figures that are in no document cannot be embedded any more: components() and
# file_html() begin from curdoc() and find no list of events. As seen, embedding works where the
# figure was put into a Document() of its own before.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q bokeh==3.9.2
"$folder/venv/bin/python" - >"$folder/seen" 2>/dev/null <<'PYTHON'
import gc

from bokeh.document import Document
from bokeh.embed import components
from bokeh.io import curdoc
from bokeh.models import ColumnDataSource
from bokeh.plotting import figure


def tried(what):
    try:
        return what()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def drawn(document=None):
    plot = figure()
    plot.scatter([1], [1])
    if document is not None:
        document.add_root(plot)
    return "embedded" if components(plot) else ""


own, session, source = curdoc(), Document(), ColumnDataSource()
session.add_root(source)
divide_by = {"n": 1}
source.on_change("name", lambda _attr, _old, _new: 1 / divide_by["n"])
print("a callback that ends:", tried(lambda: source.update(name="a")), curdoc() is own)
divide_by["n"] = 0
print("one that raises:", tried(lambda: source.update(name="b")), curdoc() is own, curdoc() is session)
session.callbacks.destroy()  # as at the end of a session
print("a figure in no document:", tried(drawn))
print("a figure in its own:", tried(lambda: drawn(Document())))
del session, source
gc.collect()
print("curdoc():", tried(curdoc))
PYTHON
diff "$folder/seen" - <<'SEEN'
a callback that ends: None True
one that raises: ZeroDivisionError: division by zero False True
a figure in no document: AttributeError: 'DocumentCallbackManager' object has no attribute '_js_event_callbacks'
a figure in its own: embedded
curdoc(): RuntimeError: Patched curdoc has been previously destroyed
SEEN
echo "as it was seen"
