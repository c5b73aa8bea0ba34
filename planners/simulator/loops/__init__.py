"""Is every round of a loop right? Decided from one round, where it moves regularly."""
