"""What is known of a network's numbers: its parameters, and the ranges of its values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class CallFacts:
    """The arguments of one call, by the names that ATen gives them.

    `parameters` are its tensors that no input reaches, `settings` all that are no tensors, those
    with default values included.
    """

    parameters: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """Facts of a graph's calls, and the least and greatest value of each tensor, by name.

    `ranges` has the graph's inputs and every value that an operator computes on its way.
    """

    calls: Mapping[str, CallFacts]
    ranges: Mapping[str, tuple[float, float]]
