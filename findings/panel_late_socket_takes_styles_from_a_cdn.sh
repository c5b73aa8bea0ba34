#!/usr/bin/env bash
# panel 1.9.4 with bokeh 3.9.2
# A page's session ends where its browser does not come for it within 15 seconds, as on a slow
# network; the web socket that comes then makes a new session under the same address. Of that one
# every style sheet of Panel's own is asked for from cdn.holoviz.org, though the server serves them
# (`panel serve` without any option, resources "server"): on a machine without internet, or under a
# policy that lets nothing leave it, the page has no styles. Where the sheets are is said while an
# HTML page is made (`dist_url` among the document's template variables), and a socket makes none.
set -euo pipefail
folder=$(mktemp -d)
trap 'kill $(cat "$folder/pid" 2>/dev/null) 2>/dev/null || true; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q panel==1.9.4 bokeh==3.9.2
cat >"$folder/page.py" <<'PYTHON'
import panel as pn

pn.Column(pn.widgets.Button(name="go"), pn.widgets.TextInput()).servable()
PYTHON
port=$("$folder/venv/bin/python" -c "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); print(s.getsockname()[1])")
"$folder/venv/bin/panel" serve "$folder/page.py" --port "$port" >"$folder/log" 2>&1 &
echo $! >"$folder/pid"
"$folder/venv/bin/python" - "$port" >"$folder/seen" <<'PYTHON'
import re
import sys
import time
import urllib.request

import panel.models.layout  # noqa: F401
import panel.models.widgets  # noqa: F401
from bokeh.client import pull_session
from bokeh.models import ImportedStyleSheet
from bokeh.util.token import get_session_id

address = f"http://localhost:{sys.argv[1]}/page"
for _ in range(300):
    try:
        text = urllib.request.urlopen(address).read().decode()
        break
    except OSError:
        time.sleep(0.2)
asked = get_session_id(re.search(r'"token":\s*"([^"]+)"', text)[1])


def sheets(session_id):
    document = pull_session(url=address, session_id=session_id).document
    urls = {str(sheet.url) for sheet in document.select({"type": ImportedStyleSheet})}
    away = sum(url.startswith("https://cdn.holoviz.org/") for url in urls)
    return f"{away} of {len(urls)} style sheets from the CDN"


print("the session of a request:", sheets(asked))
print("a session that a socket makes:", sheets(None))
PYTHON
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN' && echo "as it was seen"
the session of a request: 0 of 5 style sheets from the CDN
a session that a socket makes: 5 of 5 style sheets from the CDN
SEEN
