"""Sets of operators that a search moves in, and the cost model's interface."""
