"""One view per file; all show the plan that the session holds, with one cursor and selection."""
