"""`python -m planners.cli`: the `spillway` command."""

from planners.cli.main import main

main()
