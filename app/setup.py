"""What `panel serve --setup app/setup.py app/main.py` does before the first visitor comes.

Without it the same is done when the first page is asked for.
"""

import sys
from pathlib import Path

root = str(Path(__file__).resolve().parent.parent)
if root not in sys.path:  # a checkout that is not installed
    sys.path.insert(0, root)

from app.server.install import install_guards  # noqa: E402

install_guards()
