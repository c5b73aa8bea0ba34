"""Every model by name: torchvision, timm and files, as graphs; torch is imported only on a miss."""

from typing import TYPE_CHECKING

from planners.core.lazy_imports import on_use

if TYPE_CHECKING:
    from planners.catalogue.loading import build, load
    from planners.catalogue.names import models

PLACES = {
    "build": "planners.catalogue.loading",
    "load": "planners.catalogue.loading",
    "models": "planners.catalogue.names",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = on_use(__name__, PLACES)

__all__ = ["build", "load", "models"]
