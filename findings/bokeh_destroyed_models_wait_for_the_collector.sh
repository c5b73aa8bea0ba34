#!/usr/bin/env bash
# bokeh 3.9.2
# Destroying a document empties each of its models, so that a session that has ended should cost
# nothing more; but only the values that were set are let go of. Lists, sets and dictionaries that
# are properties by default stay, each knows the model that it is of, and so each model stays in a
# circle of its own until Python's collector looks. As seen, all 27 models of a figure in a row are
# there after destroy() and after everything else has let go; emptied of all attributes, none is. A
# server whose collector seldom looks, because it stops all sessions meanwhile, grows by every page.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q bokeh==3.9.2
"$folder/venv/bin/python" - >"$folder/seen" <<'PYTHON'
import gc
import weakref

from bokeh.document import Document
from bokeh.models import Row
from bokeh.plotting import figure


def visit(empty):
    document = Document()
    document.add_root(Row(children=[figure()]))
    models = [*document.models]
    seen = [weakref.ref(model) for model in models]
    document.models.destroy()
    for model in models if empty else ():
        vars(model).clear()
    return seen


gc.disable()
for name, empty in (("destroyed", False), ("emptied too", True)):
    seen = visit(empty)
    left = sum(model() is not None for model in seen)
    gc.collect()
    print(f"{name}: {len(seen)} models, {left} left, {sum(m() is not None for m in seen)} after the collector")
PYTHON
diff "$folder/seen" - <<'SEEN'
destroyed: 27 models, 27 left, 0 after the collector
emptied too: 27 models, 0 left, 0 after the collector
SEEN
echo "as it was seen"
