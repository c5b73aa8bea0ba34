"""Which operators run as one, in which segments, within a budget."""
