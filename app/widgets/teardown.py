"""A page whose visitor has left, taken apart: it goes at once, and nobody has to look for it.

A page is fifty thousand objects in circles: views know their session, and it them. What goes in
circles is found by Python's collector alone, which walks all that there is and stops the server
meanwhile, for seconds where sixty people have a page. Parts whose attributes are gone hold nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import CellType, FunctionType, MethodType
from typing import Any

import param
from bokeh.model import Model
from panel.viewable import Viewable, Viewer

OURS = ("app.views.", "app.widgets.", "app.session.", "app.outputs.", "app.explorer", "app.page")
"""Rooms whose objects are one page's own; what others hold may be several pages'."""
CONTAINERS = (list, tuple, set, frozenset)


def take_apart(roots: Iterable[Any]) -> int:
    """Empty all objects of a page that nobody is on any more; how many there were."""
    parts = list(parts_of(roots))
    for part in parts:
        part.__dict__.clear()
    return len(parts)


def parts_of(roots: Iterable[Any]) -> Iterator[Any]:
    """The objects that are a page's own, found by the attributes of one another."""
    seen: set[int] = set()
    waiting = list(roots)
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, CONTAINERS):
            waiting.extend(thing)
        elif isinstance(thing, dict):
            waiting.extend(thing.values())
        elif isinstance(thing, FunctionType):
            waiting.extend(cell.cell_contents for cell in thing.__closure__ or () if _is_full(cell))
        elif isinstance(thing, MethodType):
            waiting.append(thing.__self__)
        elif _is_own(thing):
            waiting.extend(vars(thing).values())
            if isinstance(thing, param.Parameterized):
                waiting.extend((thing._param__private.values, thing._param__private.watchers))
            yield thing


def _is_full(cell: CellType) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:  # nothing has been put there
        return False


def _is_own(thing: Any) -> bool:
    if isinstance(thing, type) or not hasattr(thing, "__dict__"):
        return False
    if isinstance(thing, Model):
        return thing.document is None
    if isinstance(thing, Viewable | Viewer):
        return True
    module = type(thing).__module__
    return module.startswith(OURS) or (
        module.startswith("app.model.") and isinstance(thing, param.Parameterized)
    )
