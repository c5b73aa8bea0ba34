"""A problem as COSMA sees it: tensors by number, schedules as uses and gaps, constraints."""
