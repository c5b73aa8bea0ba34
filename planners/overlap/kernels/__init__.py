"""What can run as one kernel, how coarse, and what it repeats."""
