#!/usr/bin/env bash
# panel 1.9.4 with bokeh 3.9.2
# A browser has its document (Bokeh's PULL-DOC) some time before it says that all is built
# (`document_ready`): as long as it takes to make the views, seconds for a large page. What a server
# changes on the page in between through Panel (a pane's object, a layout's objects) never arrives,
# not even once the browser has said so: Panel takes the session for one that is not connected yet,
# and drops changes since "the document is serialized in full once it connects", which has been. A
# change of the Bokeh model itself in that time arrives, and so does what Panel changes afterwards.
set -euo pipefail
folder=$(mktemp -d)
trap 'kill $(cat "$folder/pid" 2>/dev/null) 2>/dev/null || true; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q panel==1.9.4 bokeh==3.9.2
cat >"$folder/page.py" <<'PYTHON'
import panel as pn
from bokeh.models import Div

pane, box, model = pn.pane.Str("pane before"), pn.Column(), Div(text="model before")
document = pn.state.curdoc


def early():
    pane.object = "pane in between"
    box.objects = [pn.pane.Str("added in between")]
    model.text = "model in between"


def late():
    box.append(pn.pane.Str("added afterwards"))


def begin():
    document.add_timeout_callback(early, 1000)
    document.add_timeout_callback(late, 4000)


pn.state.execute(begin, schedule=True)
pn.Column(pane, box, pn.pane.Bokeh(model)).servable()
PYTHON
port=$("$folder/venv/bin/python" -c "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); print(s.getsockname()[1])")
"$folder/venv/bin/panel" serve "$folder/page.py" --port "$port" >"$folder/log" 2>&1 &
echo $! >"$folder/pid"
"$folder/venv/bin/python" - "$port" >"$folder/seen" <<'PYTHON'
import asyncio
import json
import re
import sys
import time
import urllib.request

from tornado.httpclient import AsyncHTTPClient, HTTPRequest
from tornado.websocket import websocket_connect

address = f"localhost:{sys.argv[1]}/page"
for _ in range(300):
    try:
        urllib.request.urlopen(f"http://{address}").close()
        break
    except OSError:
        time.sleep(0.2)
TEXTS = ("pane in between", "added in between", "model in between", "added afterwards")
READY = {"type": "event", "name": "document_ready", "values": {"type": "map", "entries": []}}


async def visit():
    page = (await AsyncHTTPClient().fetch(f"http://{address}")).body.decode()
    token = re.search(r'"token":\s*"([^"]+)"', page)[1]
    socket = await websocket_connect(HTTPRequest(f"ws://{address}/ws"), subprotocols=["bokeh", token])
    heard = []

    async def read():
        while (message := await socket.read_message()) is not None:
            heard.append(message)

    reading = asyncio.create_task(read())

    async def say(kind, content):
        for part in ({"msgid": kind, "msgtype": kind}, {}, content):
            await socket.write_message(json.dumps(part))

    async def until(words):
        while not any(words in text for text in heard):
            await asyncio.sleep(0.05)

    await asyncio.wait_for(until("ACK"), 60)
    await say("PULL-DOC-REQ", {})
    await asyncio.wait_for(until("pane before"), 60)
    await asyncio.sleep(2.5)  # the views are made; meanwhile the server changes the page
    event = {"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": READY}
    await say("PATCH-DOC", {"events": [event]})
    await asyncio.sleep(4)
    for text in TEXTS:
        print(f"{text}: {'arrived' if any(text in one for one in heard) else 'never arrived'}")
    known = set(re.findall(r'"id":"(p\d+)","attributes"', "".join(heard)))
    (patch,) = [json.loads(one) for one in heard if "added afterwards" in one]
    (children,) = [event["new"] for event in patch["events"] if event.get("attr") == "children"]
    print(f"then the layout has {len(children)}, of which {sum(c['id'] in known for c in children)} described")
    reading.cancel()


asyncio.run(visit())
PYTHON
diff "$folder/seen" - <<'SEEN'
pane in between: arrived
added in between: never arrived
model in between: arrived
added afterwards: arrived
then the layout has 2, of which 1 described
SEEN
echo "as it was seen"
