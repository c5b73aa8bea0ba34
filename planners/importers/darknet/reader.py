"""Darknet `.cfg` files as graphs; torch is needed for the graph, not for the network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planners.core.element_types import Width
from planners.core.errors import BadInput
from planners.core.graph import GRANULARITIES, Graph
from planners.importers.darknet.cfg import essence, parse, read_cfg
from planners.importers.darknet.layers import Network

if TYPE_CHECKING:
    import torch

LARGEST_INPUT = 2**28
"""Elements of an input beyond which its shape is taken for a slip."""


def from_darknet(
    path: str | Path,
    input_shape: Sequence[Any] | None = None,
    granularity: str = "fused",
    bytes_per_element: Width | None = None,
) -> Graph:
    """The graph of a Darknet network at inference, an operator's `block` its section.

    `input_shape` (batch × channels × height × width) replaces one image of the file's own size.
    Detection heads (`yolo`, `region`) are identities: their maps are the outputs. Raises `BadInput`
    with file and line.
    """
    if granularity not in GRANULARITIES:
        raise BadInput(f"granularity {granularity!r} is not one of {', '.join(GRANULARITIES)}")
    source = darknet_source(path, input_shape)
    graph = graph_of(source, Path(path).stem, granularity)
    return graph.with_bytes_per_element(1 if bytes_per_element is None else bytes_per_element)


def darknet_source(path: str | Path, input_shape: Sequence[Any] | None = None) -> dict[str, Any]:
    """A graph's `source` for a file: all that it takes to build the network again.

    Raises `BadInput` with file and line.
    """
    text = read_cfg(path)
    network = parse(text, str(path), Path(path).stem)
    given: Any = [1, *network.input] if input_shape is None else input_shape
    if isinstance(given, (list, tuple)) and [type(part) for part in given] in ([list], [tuple]):
        (given,) = given  # one shape an input, as other models have it
    shape = _shape(given, network, path)
    source: dict[str, Any] = {"darknet": essence(text, str(path)), "input_shape": [shape]}
    if note := network.note():
        source["note"] = note
    network_of(source, str(path))  # the sizes fit at this input too
    return source


def network_of(source: Any, name: str) -> Network:
    """The network that a graph's `source` holds. Raises `BadInput` where it holds none."""
    text, shapes = source.get("darknet"), source.get("input_shape")
    whole = isinstance(shapes, (list, tuple)) and len(shapes) == 1
    if not isinstance(text, str) or not whole:
        raise BadInput(f"{name} does not come from a Darknet file")
    given = parse(text, name, name)
    _, _, height, width = _shape(shapes[0], given, name)
    return parse(text, name, name, (height, width))


def graph_of(
    source: dict[str, Any], name: str, granularity: str, fold_padding: bool = True
) -> Graph:
    """The graph of what `darknet_source` gave. Raises `BadInput`, `ImportFailed`."""
    import torch

    from planners.importers.torch.reader import from_torch

    with torch.device("meta"):
        module = module_of(network_of(source, name))
        inputs = (torch.empty(source["input_shape"][0]),)
    return from_torch(
        module,
        inputs,
        name=name,
        granularity=granularity,
        source=source,
        fold_padding=fold_padding,
    )


def module_of(network: Network) -> torch.nn.Module:
    """A network as a PyTorch module in eval mode, with the weights that PyTorch starts with."""
    from planners.importers.darknet.modules import Darknet

    return Darknet(network).eval()


def _shape(given: Any, network: Network, name: str | Path) -> list[int]:
    channels, height, width = network.input
    wants = f"{name} takes an image such as 1x{channels}x{height}x{width}"
    if not isinstance(given, (list, tuple)) or len(given) != 4:
        raise BadInput(f"{wants}, not {given!r:.60}")
    shape = list(given)
    if not all(isinstance(n, int) and not isinstance(n, bool) and n > 0 for n in shape):
        raise BadInput(f"{wants}: a shape is whole numbers above zero, not {given!r:.60}")
    if shape[1] != channels:
        raise BadInput(f"{wants}: it has {channels} channels, not {shape[1]}")
    if shape[0] * shape[1] * shape[2] * shape[3] > LARGEST_INPUT:
        raise BadInput(f"{wants}; {given!r:.60} is more than {LARGEST_INPUT} elements")
    return shape
