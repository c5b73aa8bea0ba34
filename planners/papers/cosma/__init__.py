"""COSMA: schedule, addresses and replacement by ILP, its comparison computed anew."""
