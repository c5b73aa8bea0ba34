"""Which kernel an operator has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planners.importers.tflite.kernels import elements, moves, recurrent, whole_maps, windows
from planners.importers.tflite.kernels.call import KernelCall
from planners.importers.tflite.kernels.elements import Made

KERNELS: Mapping[str, Callable[[KernelCall], Made]] = {
    "CONV_2D": windows.convolution,
    "DEPTHWISE_CONV_2D": windows.depthwise,
    "TRANSPOSE_CONV": windows.transposed,
    "FULLY_CONNECTED": windows.linear,
    "BATCH_MATMUL": windows.matrices,
    "MAX_POOL_2D": windows.largest,
    "AVERAGE_POOL_2D": windows.average,
    "ADD": elements.summed(1),
    "SUB": elements.summed(-1),
    "MUL": elements.product,
    "MAXIMUM": elements.chosen(np.maximum),
    "MINIMUM": elements.chosen(np.minimum),
    "PRELU": elements.slope_by_channel,
    "LEAKY_RELU": elements.slope,
    "RELU": elements.rectified,
    "RELU6": elements.rectified_to_six,
    "LOGISTIC": elements.table("logistic", elements.sigmoid),
    "TANH": elements.table("tanh", elements.hyperbolic),
    "HARD_SWISH": elements.swish,
    "QUANTIZE": elements.quantised,
    "DEQUANTIZE": elements.real_again,
    "CAST": elements.cast,
    "DENSIFY": lambda call: [call.array(0)],  # weights are read with their zeros
    "SOFTMAX": whole_maps.softmax,
    "LOG_SOFTMAX": whole_maps.log_softmax,
    "MEAN": whole_maps.mean,
    "SUM": whole_maps.mean,
    "RESIZE_BILINEAR": whole_maps.resized_smoothly,
    "RESIZE_NEAREST_NEIGHBOR": whole_maps.resized,
    "CONCATENATION": whole_maps.joined,
    "REDUCE_MAX": whole_maps.extreme(np.max),
    "REDUCE_MIN": whole_maps.extreme(np.min),
    "DEPTH_TO_SPACE": moves.spread,
    "SPACE_TO_DEPTH": moves.gathered,
    "SPACE_TO_BATCH_ND": moves.batches,
    "BATCH_TO_SPACE_ND": moves.unbatched,
    "MIRROR_PAD": moves.mirrored,
    "PACK": moves.stacked,
    "UNPACK": moves.unstacked,
    "TRANSPOSE": moves.turned,
    "SLICE": moves.cut,
    "STRIDED_SLICE": moves.strided,
    "SPLIT": moves.split,
    "SPLIT_V": moves.split,
    "TILE": moves.tiled,
    "BROADCAST_TO": moves.broadcast,
    "FILL": moves.filled,
    "ZEROS_LIKE": lambda call: [np.zeros_like(call.array(0))],
    "REVERSE_V2": moves.reversed_along,
    "GATHER": moves.picked,
    "GATHER_ND": moves.picked_by_place,
    "EMBEDDING_LOOKUP": moves.looked_up,
    "SCATTER_ND": moves.scattered,
    "DYNAMIC_UPDATE_SLICE": moves.updated,
    "SELECT": moves.selected,
    "SELECT_V2": moves.selected,
    "ONE_HOT": moves.hot,
    "SHAPE": moves.shape_of,
    "RANK": moves.shape_of,
    "PAD": whole_maps.padded,
    "PADV2": whole_maps.padded,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": recurrent.lstm,
}
"""By the schema's name. A kernel raises `Unsupported` for types or options that it has not."""
SUMS: Mapping[str, Callable[[KernelCall], NDArray[Any]]] = {
    "CONV_2D": windows.convolved,
    "FULLY_CONNECTED": windows.multiplied,
}
"""What sums products of channels, which `windows.finished` makes elements of."""
MOVES = frozenset({"RESHAPE", "SQUEEZE", "EXPAND_DIMS", "SLICE", "STRIDED_SLICE", "TRANSPOSE"})
MOVES |= {"SPLIT", "SPLIT_V"}
"""What moves elements and computes nothing, where what it reads besides is in the file."""
