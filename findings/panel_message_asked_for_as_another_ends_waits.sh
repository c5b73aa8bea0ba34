#!/usr/bin/env bash
# panel 1.9.4 with bokeh 3.9.2
# What Panel sends while an earlier message is still being written goes on a list, and a task is made
# that sends the list. The task that wrote the earlier message takes the mark away by which that list
# is known to be waited for; where it goes on first, in the same turn of the event loop, the new task
# finds no mark and does nothing. The message stays on the list until the page changes once more: of
# the last change of a page nothing is seen. A turn later, it is sent. (A socket of another server,
# registered with `extra_socket_handlers`, ends its writing here at a moment that is chosen.)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q panel==1.9.4 bokeh==3.9.2
"$folder/venv/bin/python" - >"$folder/seen" <<'PYTHON'
import asyncio

from bokeh.document import Document
from panel.io import document as panel_documents


class Protocol:
    def create(self, kind, events):
        return events


class Socket:
    def __init__(self):
        self.sent, self.writing = [], None


class Connection:
    protocol = Protocol()

    def __init__(self):
        self._socket = Socket()


def write(connection, msg):
    socket = connection._socket
    socket.sent.append(msg)
    socket.writing = asyncio.get_running_loop().create_future()
    return [socket.writing]


panel_documents.extra_socket_handlers[Socket] = write


async def turns(count):
    for _ in range(count):
        await asyncio.sleep(0)


async def show(between):
    document, connection = Document(), Connection()
    panel_documents.schedule_write_events(document, [connection], "first")
    await turns(3)
    connection._socket.writing.set_result(None)
    await turns(between)
    panel_documents.schedule_write_events(document, [connection], "second")
    await turns(50)
    print(f"{between} turns between: sent {connection._socket.sent}")
    panel_documents.schedule_write_events(document, [connection], "third")
    await turns(3)
    connection._socket.writing.set_result(None)
    await turns(3)
    print(f"after another change: sent {connection._socket.sent}")


asyncio.run(show(0))
asyncio.run(show(1))
PYTHON
diff "$folder/seen" - <<'SEEN'
0 turns between: sent ['first']
after another change: sent ['first', 'second', 'third']
1 turns between: sent ['first', 'second']
after another change: sent ['first', 'second', 'third']
SEEN
echo "as it was seen"
