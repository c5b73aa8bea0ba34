"""How a fused group runs: strips of rows, bands of columns, passes over channels."""
