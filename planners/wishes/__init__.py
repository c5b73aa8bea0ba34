"""Requirements on a plan: a language of constraints, and the smallest sets that conflict."""
