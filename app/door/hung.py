"""The whole door, hung on the server of this process."""

from __future__ import annotations

from app.door.cleaning import collect_seldom
from app.door.guard import guard
from app.door.headers import add_headers
from app.door.origins import accept_loopback
from app.door.places import clear_places_in_between, make_pages_in_turn
from app.door.sockets import bound_sockets
from app.model.events import log_to_stderr


def hang_door() -> None:
    """Have the server of this process, running or not yet, let in and answer as we want it to.

    A second time it does nothing.
    """
    log_to_stderr()
    guard()
    add_headers()
    accept_loopback()
    make_pages_in_turn()
    clear_places_in_between()
    bound_sockets()
    collect_seldom()
