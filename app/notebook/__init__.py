"""Spillway in notebooks: rich displays, a what-if panel of widgets, the whole explorer inline."""
