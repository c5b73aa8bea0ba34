"""A checked plan as data for the views: steps, stays, rings, comparisons; no Panel here."""
