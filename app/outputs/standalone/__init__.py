"""A plan as one HTML file: figures, sentences and tables that need no server and no network.

`write_html(plan, "plan.html")` is all that most callers need.
"""

from app.outputs.standalone.write import PageLook, page_html, seen_of, write_html

__all__ = ["PageLook", "page_html", "seen_of", "write_html"]
