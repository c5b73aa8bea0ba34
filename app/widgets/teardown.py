"""A page whose visitor has left, taken apart: it goes at once, and nobody has to look for it.

A page is fifty thousand objects in circles: views know their session, and it them. What goes in
circles is found by Python's collector alone, which walks all that there is and stops the server
meanwhile, for seconds where sixty people have a page. Parts whose attributes are gone hold nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from types import CellType, FunctionType, MethodType
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import param
from bokeh.document import Document
from bokeh.document.models import DocumentModelManager
from bokeh.model import Model
from panel.viewable import Viewable, Viewer

OURS = ("app.views.", "app.widgets.", "app.session.", "app.outputs.", "app.explorer", "app.page")
"""Rooms whose objects are one page's own; what others hold may be several pages'."""
CONTAINERS = (list, tuple, set, frozenset)
END_S = 1.0
"""From the end of a session: what was under way is over."""


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
        return bool(vars(thing)) and thing.document is None
    if isinstance(thing, Viewable | Viewer):
        return True
    module = type(thing).__module__
    return module.startswith(OURS) or (
        module.startswith("app.model.") and isinstance(thing, param.Parameterized)
    )


def take_models_apart() -> None:
    """Have the models of a page that has ended hold nothing, those included that it showed before.

    A list or dictionary of a Bokeh model knows the model that it is of, so that each model is a
    circle of its own, and ending the document empties only what was set, not what is by default.
    """
    theirs, detach = DocumentModelManager.destroy, Model._detach_document
    if theirs.__name__ == "destroy_whole":
        return
    dropped: WeakKeyDictionary[Document, WeakSet[Model]] = WeakKeyDictionary()

    def detach_and_remember(model: Model) -> None:
        if document := model.document:
            dropped.setdefault(document, WeakSet()).add(model)
        detach(model)

    def destroy_whole(manager: DocumentModelManager) -> None:
        document = manager._document()
        models = [*manager, *(dropped.pop(document, ()) if document else ())]
        theirs(manager)
        asyncio.get_running_loop().call_later(END_S, _empty, models)

    Model._detach_document = detach_and_remember
    DocumentModelManager.destroy = destroy_whole


def _empty(models: Iterable[Model]) -> None:
    for model in filter(_is_own, models):
        vars(model).clear()
