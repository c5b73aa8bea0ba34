"""What guards the server of this process, installed on it as a whole."""

from __future__ import annotations

import os
import sys

from tornado.process import task_id

from app.model.events import log_to_stderr
from app.server.cleaning import disable_panel_collection
from app.server.guard import guard
from app.server.headers import add_headers
from app.server.log_in import guard_log_in, lead_scripts_to_the_log_in
from app.server.log_lines import keep_log_short
from app.server.messages import bound_messages, bound_what_is_made
from app.server.origins import accept_loopback
from app.server.sessions import clear_places_in_between, make_pages_in_turn
from app.server.sockets import bound_sockets, send_to_the_last
from app.widgets.teardown import take_models_apart

SEVERAL = (
    "--num-procs does not work: the processes would share one port, but no sessions. Start several "
    "servers behind a proxy instead (docs/deployment.md)."
)


def refuse_several_processes() -> None:
    """End this process where it is one of several that `panel serve --num-procs` has made: what a
    page asks for would come to another one than that which made it.

    Its siblings end in the same way; only the first one says why.
    """
    if (number := task_id()) is not None:
        if number == 0:
            print(SEVERAL, file=sys.stderr, flush=True)
        os._exit(0)  # of any other code Tornado makes another one in its place


def install_guards() -> None:
    """Have the server of this process, running or not yet, let in and answer as we want it to.

    A second time it does nothing.
    """
    refuse_several_processes()
    log_to_stderr()
    guard()
    add_headers()
    accept_loopback()
    guard_log_in()
    lead_scripts_to_the_log_in()
    make_pages_in_turn()
    clear_places_in_between()
    bound_sockets()
    bound_messages()
    bound_what_is_made()
    keep_log_short()
    send_to_the_last()
    take_models_apart()
    disable_panel_collection()
