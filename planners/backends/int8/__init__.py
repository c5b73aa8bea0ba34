"""Quantised networks: `random_net` makes one of any graph whose operators have int8 kernels,
`quantize` one of a module with its weights; `run_reference` runs it in whole tensors."""
