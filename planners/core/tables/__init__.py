"""Programs as columns: one row an instruction, one an operand, numbers in numpy arrays."""
