"""Sets of operators that a search moves in, and what it asks of a cost model."""
