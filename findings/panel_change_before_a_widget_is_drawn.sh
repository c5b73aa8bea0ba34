#!/usr/bin/env bash
# panel 1.9.4 with bokeh 3.9.2, in Chromium (any)
# A widget's view hears of changes once its siblings' views are made, and is drawn once those of its
# parent's siblings are: a component whose module is still loading (a JSComponent, milliseconds to
# seconds) keeps all beside it in between. A change that the server sends in that time throws in
# Bokeh's view of most widgets, and all that stands behind it in the same message is lost: the
# browser keeps the old values, for good, of models that have nothing to do with the widget. Where
# the change is Select's, its own options are lost too. Text (HTML, Str) is not concerned.
set -euo pipefail
folder=$(mktemp -d)
trap 'kill $(cat "$folder/pid" 2>/dev/null) 2>/dev/null || true; rm -rf "$folder"' EXIT
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || {
    echo "needs a Chromium: apt-get install chromium"; exit 77; }
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q panel==1.9.4 bokeh==3.9.2 playwright==1.49.1
cat >"$folder/page.py" <<'PYTHON'
import panel as pn
from panel.custom import JSComponent

pn.extension()


class Loading(JSComponent):
    _esm = """
await new Promise((done) => setTimeout(done, 2000));
export function render() { return document.createElement('b'); }
"""


w = pn.widgets
WHAT = {
    "Select options": lambda: (w.Select(options=["a", "b"]), {"options": ["c", "d"]}),
    "TextInput value": lambda: (w.TextInput(), {"value": "b"}),
    "IntSlider end": lambda: (w.IntSlider(start=0, end=9), {"end": 5}),
    "Checkbox value": lambda: (w.Checkbox(), {"value": True}),
    "Button disabled": lambda: (w.Button(), {"disabled": True}),
    "RadioButtonGroup value": lambda: (w.RadioButtonGroup(options=["a", "b"]), {"value": "b"}),
    "Button name": lambda: (w.Button(), {"name": "b"}),
    "HTML object": lambda: (pn.pane.HTML("a"), {"object": "b"}),
}
widget, change = WHAT[pn.state.session_args["what"][0].decode()]()
other, box = pn.pane.Str("before"), pn.Column()


def later(act, ms):
    pn.state.add_periodic_callback(act, ms, count=1)


def show():
    box.objects = [pn.Row(widget), Loading()]
    later(send, 500)


def send():
    with pn.io.hold(pn.state.curdoc):
        widget.param.update(**change)
        other.object = "after"


pn.state.onload(lambda: later(show, 300))
pn.Column(other, box).servable()
PYTHON
port=$("$folder/venv/bin/python" -c "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); print(s.getsockname()[1])")
"$folder/venv/bin/panel" serve "$folder/page.py" --port "$port" >"$folder/log" 2>&1 &
echo $! >"$folder/pid"
"$folder/venv/bin/python" - "$port" "$chromium" >"$folder/seen" <<'PYTHON'
import sys
import time
import urllib.request

from playwright.sync_api import sync_playwright

port, chromium = sys.argv[1:]
for _ in range(300):
    try:
        urllib.request.urlopen(f"http://localhost:{port}/page?what=HTML%20object").close()
        break
    except OSError:
        time.sleep(0.2)
OTHER = """() => [...Bokeh.documents[0]._all_models.values()]
  .map((model) => model.text || '').filter((text) => /before|after/.test(text))
  .map((text) => text.includes('after') ? 'after' : 'before')[0]"""
with sync_playwright() as play:
    browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
    for what in (
        "Select options", "TextInput value", "IntSlider end", "Checkbox value",
        "Button disabled", "RadioButtonGroup value", "Button name", "HTML object",
    ):
        page, thrown = browser.new_page(), []
        page.on("pageerror", lambda error, thrown=thrown: thrown.append(str(error)))
        page.goto(f"http://localhost:{port}/page?what={what.replace(' ', '%20')}")
        page.wait_for_timeout(6000)
        print(f"{what}: {'throws' if thrown else 'is taken'}; the other text: {page.evaluate(OTHER)}")
        page.close()
    browser.close()
PYTHON
diff "$folder/seen" - <<'SEEN'
Select options: throws; the other text: before
TextInput value: throws; the other text: before
IntSlider end: throws; the other text: before
Checkbox value: throws; the other text: before
Button disabled: throws; the other text: before
RadioButtonGroup value: throws; the other text: before
Button name: is taken; the other text: after
HTML object: is taken; the other text: after
SEEN
echo "as it was seen"
