"""What a peak is made of, and what would lower it."""
