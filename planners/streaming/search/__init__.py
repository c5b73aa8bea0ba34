"""Which slicing, rings and pipeline a plan has."""
