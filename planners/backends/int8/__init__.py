"""Quantised networks, and kernels that run overlap plans on them exactly, byte by byte.

`random_net` makes a `QNet` of any graph whose operators have int8 kernels, `quantize` one of a
module with its weights; `run_reference` runs it in whole tensors, `execute_int8` in the pool of a
layout, and says whether both agree in every bit.
"""

from planners.backends.int8.execute import Int8Execution, execute_int8
from planners.backends.int8.net import QNet, QOp, QTensor
from planners.backends.int8.quantize import quantize, quantized
from planners.backends.int8.random_net import random_net
from planners.backends.int8.reference import random_inputs, run_reference, to_int8, to_real
from planners.backends.int8.run import run_layout

__all__ = [
    "Int8Execution",
    "QNet",
    "QOp",
    "QTensor",
    "execute_int8",
    "quantize",
    "quantized",
    "random_inputs",
    "random_net",
    "run_layout",
    "run_reference",
    "to_int8",
    "to_real",
]
