"""The sentences of a step, a file for each kind of plan."""
