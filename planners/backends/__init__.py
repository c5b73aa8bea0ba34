"""What runs plans elsewhere: C for microcontrollers, int8 kernels, weights streamed from disk."""
