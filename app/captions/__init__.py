"""The sentences of a step, one file for each kind of plan."""
