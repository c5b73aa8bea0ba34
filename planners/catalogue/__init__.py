"""Every model by name: torchvision, timm and files, as graphs; torch is imported only on a miss."""

from planners.catalogue.loading import build, load, models

__all__ = ["build", "load", "models"]
