"""One view a file; each shows the plan that the session holds and shares its cursor and selection."""
