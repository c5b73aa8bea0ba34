"""torchao's operators that quantise, by their schemas: what a file calls is known without torchao.

They are declared under a name of our own, so that torchao may still be imported later.
"""

from __future__ import annotations

from typing import Any

import torch

LIBRARY = "spillway_torchao"
_SCHEMAS = (
    "choose_qparams_affine(Tensor? input, str mapping_type, SymInt[] block_size, "
    "ScalarType target_dtype, Scalar? quant_min=None, Scalar? quant_max=None, float? eps=None, "
    "ScalarType? scale_dtype=None, ScalarType? zero_point_dtype=None, bool keepdim=False) "
    "-> (Tensor, Tensor)",
    "choose_scale_float8(Tensor tensor, SymInt[] block_size, ScalarType float8_dtype=24, "
    "ScalarType scale_dtype=6, float? hp_value_lb=None, float? hp_value_ub=None) -> Tensor",
    "quantize_affine(Tensor input, SymInt[] block_size, Tensor scale, Tensor? zero_point, "
    "ScalarType output_dtype, Scalar? quant_min=None, Scalar? quant_max=None) -> Tensor",
    "dequantize_affine(Tensor input, SymInt[] block_size, Tensor scale, Tensor? zero_point, "
    "ScalarType input_dtype, Scalar? quant_min=None, Scalar? quant_max=None, "
    "ScalarType output_dtype=6) -> Tensor",
    "quantize_affine_float8_non_decomposed(Tensor tensor, Tensor scale, "
    "ScalarType float8_dtype=24) -> Tensor",
    "dequantize_affine_float8_non_decomposed(Tensor tensor, Tensor scale, "
    "ScalarType output_dtype=6) -> Tensor",
)
"""As torchao 0.18 declares them."""
_library = torch.library.Library(LIBRARY, "DEF")
for _schema in _SCHEMAS:
    _library.define(_schema)


def torchao_operator(name: str) -> Any:
    """The packet of one of torchao's operators; None for what neither is here nor was imported."""
    return getattr(getattr(torch.ops, LIBRARY), name, None) or getattr(
        torch.ops.torchao, name, None
    )
