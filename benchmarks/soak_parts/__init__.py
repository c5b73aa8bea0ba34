"""Parts of `soak.py`."""
