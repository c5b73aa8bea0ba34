"""Who is let in and what is told to those who are not, headers, one's own pages.

It is installed on Bokeh's and Tornado's classes, so that `panel serve app/main.py` has it without
flags: from the first page on, or with `--setup app/setup.py` before anybody comes.
"""
