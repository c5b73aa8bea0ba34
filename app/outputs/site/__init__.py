"""The explorer over stored plans as a folder of plain files, for a web server or from a disk.

`spillway site` writes it: a page for each plan by `app.outputs.standalone`, and an index,
comparisons, fronts, the tour and assignments around them.
"""
