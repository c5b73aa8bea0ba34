"""The names on the graph's nodes, tabs and frames: the client knows how wide these are, so it
decides how much of a name fits: none where a node is too low for letters."""

from __future__ import annotations

from app.model.paths import script

FIT_LABELS = script("fit_labels")
