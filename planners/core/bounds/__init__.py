"""Lower bounds on what any plan moves and takes."""
