"""What notebooks import; it lives in `app.outputs.notebook`."""

from app.outputs.notebook import explore, show, what_if

__all__ = ["explore", "show", "what_if"]
