"""The Transformer (Vaswani et al., NIPS 2017) as PyTorch builds it by default."""

from __future__ import annotations

import warnings

from torch import nn


def transformer(layers: int = 6) -> nn.Transformer:
    """Six layers a side, 512 wide, 8 heads, 2048 hidden; without embeddings and the last linear.

    44,140,544 parameters. The paper's base model has 65 M: 37,000 shared embeddings of 512 besides.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="enable_nested_tensor")  # its own default
        return nn.Transformer(num_encoder_layers=layers, num_decoder_layers=layers)
