"""Plans run on real numbers: an arena of the budget, copies between memories, PyTorch kernels."""
