"""Which operator runs when: orders of least peak, and order and replacement together."""
