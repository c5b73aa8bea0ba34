"""How often one address may ask."""

from __future__ import annotations

import ipaddress
import math
import time
from collections import OrderedDict
from collections.abc import Callable

from app.server.refusals import Refusal

WINDOW_S = 60.0
MOST_KNOWN = 10_000


class Rates:
    """Counts what each address asks, a minute at a time from its first time on: `most` times it is
    let in."""

    def __init__(self, most: Callable[[], int], most_known: int = MOST_KNOWN) -> None:
        self.most, self.most_known = most, most_known
        self._known: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def wait_s(self, address: str, now_s: float | None = None) -> int:
        """Seconds for which an address has to wait before its request is let in; 0 where it is let
        in, and counted."""
        now_s = time.monotonic() if now_s is None else now_s
        name = household(address)
        begun_s, balance = self._known.get(name, (now_s, 0))
        if now_s - begun_s >= WINDOW_S:
            begun_s, balance = now_s, 0
            self._known.pop(name, None)
        if balance >= self.most():
            return math.ceil(begun_s + WINDOW_S - now_s)
        self._known[name] = begun_s, balance + 1
        while len(self._known) > self.most_known:
            self._known.popitem(last=False)  # that of the oldest minute
        return 0


def household(address: str) -> str:
    """What counts as one address: of IPv6, the network that one customer gets."""
    try:
        address_read = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address  # of a Unix socket, say
    return (
        str(address_read)
        if address_read.version == 4
        else str(ipaddress.ip_network((address_read, 64), False))
    )


def too_often(wait_s: int, most: int, what: str = "requests") -> Refusal:
    """What somebody is told who asks too often."""
    why = (
        f"More than {most} {what} came from your address within a minute. "
        f"Come back in {wait_s} seconds."
    )
    return Refusal(429, f"Too many {what}", why, wait_s)
