"""Quantised networks, and kernels that run overlap plans on them exactly."""
