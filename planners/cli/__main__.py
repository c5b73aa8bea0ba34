"""`python -m planners.cli`: the `spillway` command."""

from planners.cli import main

main()
