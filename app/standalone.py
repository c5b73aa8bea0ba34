"""What saved notebooks import; it lives in `app.outputs.standalone`."""

from app.outputs.standalone import write_html

__all__ = ["write_html"]
