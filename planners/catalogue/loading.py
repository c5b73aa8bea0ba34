"""From a name or a file to a graph: shipped, cached, or traced now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planners.catalogue import cache, names, vmcu
from planners.core.element_types import Width
from planners.core.errors import BadInput, Cancelled, ImportFailed, UnknownName
from planners.core.files import read_json
from planners.core.graph import GRANULARITIES, Graph
from planners.core.progress import Clock, ProgressCallback
from planners.importers.registry import format_of, titles

if TYPE_CHECKING:
    import torch

LARGEST_INPUT = 2**28
"""Elements of an input beyond which its shape is taken for a slip."""

NO_KERNELS = (
    "a graph from an ONNX or .pt2 file can be planned, checked and simulated, not "
    "executed: for that, import the PyTorch module with from_torch"
)
NO_FILE = (
    "a plan for a .tflite file is executed with that file's weights: give the file, as "
    "spillway run --model or as sp.execute(plan, path)"
)


def load(
    name_or_path: str | Path,
    *,
    input_shape: Sequence[Any] | Mapping[str, int] | None = None,
    granularity: str = "fused",
    bytes_per_element: Width | None = None,
    fold_padding: bool = True,
    progress: ProgressCallback | None = None,
) -> Graph:
    """The graph of a catalogue model, a `timm:` model, a `vmcu:` block or a file.

    Files are graph JSON, Darknet `.cfg`, `.onnx`, `.tflite` and `.pt2`. `input_shape` is the shape
    of the input, or one shape an input, or for `.onnx` files sizes by the names of axes
    (`{"batch": 1, "sequence": 16}`); JSON files and blocks have their own (and their own
    granularity), and so have `.tflite` files, and `.pt2` files but for sizes that were left open. A
    detector is loaded as its dense part (`planners.catalogue.torch_models`). The first load of a
    model imports torch, which takes seconds; the graph is then kept on disk.

    `bytes_per_element`: of every element, or `"native"`: each tensor has those of its own type. By
    default 1 for catalogue models and Darknet files, `"native"` for `.onnx`, `.tflite` and `.pt2`
    files, and what a JSON file says.

    `fold_padding`: a pad that stands in front of convolutions and pools alone, and writes what
    those have past the edge themselves, is their padding; else it is an operator, as runtimes run
    it that know no other padding. JSON files and granularity `aten` have what they have.

    Raises `UnknownName`, `BadInput` for a file or a shape that does not do, `ImportFailed`.
    """
    if granularity not in GRANULARITIES:
        raise BadInput(f"granularity {granularity!r} is not one of {', '.join(GRANULARITIES)}")
    name = str(name_or_path)
    given: Any = input_shape
    if isinstance(given, Mapping) and Path(name).suffix.lower() != ".onnx":
        raise BadInput(f"{name}: its axes have no names; give shapes, e.g. 1x3x224x224")
    if Path(name_or_path).suffix.lower() == ".cfg":  # Its graph is kept on disk.
        return load_darknet(
            name_or_path, given, granularity, bytes_per_element, fold_padding, progress
        )
    if file := format_of(name_or_path):
        _report(Clock(inf, progress), "read", name)
        return file.reader()(name_or_path, given, granularity, bytes_per_element, fold_padding)
    block = name.startswith(vmcu.PREFIX) and not isinstance(name_or_path, Path)
    if block or isinstance(name_or_path, Path) or _is_file(name):
        if given is not None:
            raise BadInput(f"{name} has its own input shape; leave input_shape out")
        path = Path(name_or_path)
        graph = vmcu.named(name.removeprefix(vmcu.PREFIX)) if block else _from_file(path)
        return (
            graph if bytes_per_element is None else graph.with_bytes_per_element(bytes_per_element)
        )
    shapes = _shapes(name, given)
    arguments = (name, shapes, granularity, fold_padding)
    graph = _shipped(*arguments) or _traced(*arguments, progress)
    return graph.with_bytes_per_element(1 if bytes_per_element is None else bytes_per_element)


def load_darknet(
    path: str | Path,
    input_shape: Sequence[Any] | None = None,
    granularity: str = "fused",
    bytes_per_element: Width | None = None,
    fold_padding: bool = True,
    progress: ProgressCallback | None = None,
) -> Graph:
    """As `planners.importers.darknet.reader.from_darknet`, and the graph is kept on disk."""
    if granularity not in GRANULARITIES:
        raise BadInput(f"granularity {granularity!r} is not one of {', '.join(GRANULARITIES)}")
    from planners.importers.darknet import reader as darknet

    source, name = darknet.darknet_source(path, input_shape), Path(path).stem
    entry = cache.key(f"darknet:{name}", source, granularity, fold_padding)
    graph = cache.get(entry)
    if graph is None:
        _report(Clock(inf, progress), "trace", name)
        graph = darknet.graph_of(source, name, granularity, fold_padding)
        cache.put(entry, graph)
    return graph.with_bytes_per_element(1 if bytes_per_element is None else bytes_per_element)


def build(
    source: Mapping[str, Any], *, seed: int = 0
) -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    """The module that a graph's `source` names, with random weights, and random inputs for it.

    On the CPU in eval mode. Raises `BadInput` where the source names no catalogue model and holds
    no Darknet network: an ONNX file has no kernels that could be run here.
    """
    from planners.catalogue import torch_models

    if "darknet" in source:
        from planners.importers.darknet import reader as darknet

        network = darknet.network_of(source, "the graph's source")
        inputs = torch_models.random_inputs(source["input_shape"], seed)
        return torch_models.random_module(network, seed, inputs), inputs
    if "tflite" in source:
        raise BadInput(NO_FILE)
    if {"onnx", "pt2"} & source.keys():
        raise BadInput(NO_KERNELS)
    name, shapes = source.get("catalogue"), source.get("input_shape")
    if not isinstance(name, str) or not isinstance(shapes, (list, tuple)):
        raise BadInput(
            "this graph does not come from the catalogue: give the module and its inputs"
        )
    inputs = torch_models.random_inputs(_shapes(name, shapes) or (), seed)
    return torch_models.random_module(name, seed, inputs), inputs


def _report(clock: Clock, stage: str, name: str) -> None:
    """Tell of a stage. Raises `Cancelled` where the caller wants to stop."""
    clock.report(stage)
    if clock.stopped:
        raise Cancelled(f"importing {name} was stopped")


def _note(name: str) -> str:
    """What the graph of a catalogue model leaves out or is not, in words; empty where nothing."""
    if name in names.DETECTORS:
        return names.detector_note(name)
    if name.startswith("yolo"):
        from planners.importers.darknet.layers import HEAD_NOTE

        return HEAD_NOTE
    return names.QUANTISED_NOTE if name in names.QUANTIZED else ""


def trace(
    name: str,
    shapes: names.Shapes | None,
    granularity: str,
    fold_padding: bool = True,
    progress: ProgressCallback | None = None,
) -> Graph:
    """Import a catalogue model now, whatever is shipped or cached. Raises as `load`."""
    from planners.catalogue import torch_models
    from planners.importers.torch.reader import from_torch

    clock = Clock(inf, progress)
    for stage in ("build", "trace"):
        _report(clock, stage, name)
        if stage == "build":
            module = torch_models.empty_module(name)
    given, shapes = shapes, shapes or torch_models.timm_input(module)
    source: dict[str, Any] = {"catalogue": name, "input_shape": [list(s) for s in shapes]}
    if note := _note(name):
        source["note"] = note
    inputs = torch_models.empty_inputs(shapes)
    try:
        return from_torch(
            module,
            inputs,
            name=name,
            granularity=granularity,
            bytes_per_element=1,
            source=source,
            fold_padding=fold_padding,
        )
    except ImportFailed as error:
        if given in (None, *names.shipped_inputs(name)):
            raise
        raise BadInput(f"{name} cannot take the input {_text(shapes)}: {error}") from error


def _traced(
    name: str,
    shapes: names.Shapes | None,
    granularity: str,
    fold_padding: bool,
    progress: ProgressCallback | None,
) -> Graph:
    entry = cache.key(name, shapes, granularity, fold_padding)
    graph = cache.get(entry)
    if graph is None:
        graph = trace(name, shapes, granularity, fold_padding, progress)
        cache.put(entry, graph)
    return graph


def _shipped(
    name: str, shapes: names.Shapes | None, granularity: str, fold_padding: bool
) -> Graph | None:
    if shapes is None or shapes not in names.shipped_inputs(name):
        return None
    for fold in dict.fromkeys((fold_padding, True)):
        named = names.shipped_file(name, shapes, granularity, fold)
        file = files("planners.catalogue") / "graphs" / named
        if file.is_file():
            graph = cache.decode(file.read_bytes())
            if fold_padding or "folded_pads" not in graph.source:
                return graph
    return None


def _is_file(name: str) -> bool:
    in_catalogue = name in names.CATALOGUE or name.startswith("timm:")
    return not in_catalogue and (Path(name).suffix.lower() == ".json" or "/" in name)


PICKLED = (".pt", ".pth", ".ckpt", ".bin", ".pkl", ".pickle")


def _from_file(path: Path) -> Graph:
    try:
        data = read_json(path)
    except BadInput as error:
        if path.suffix.lower() == ".json" or not path.is_file():
            raise
        raise _of_no_kind(path) from error
    return Graph.from_json(data)


def _of_no_kind(path: Path) -> BadInput:
    advice = "; what Python pickled is not loaded: torch.export.save writes a .pt2"
    pickled = advice if path.suffix.lower() in PICKLED else ""
    return BadInput(f"{path} is not a model file: graphs (.json), {titles()} are read{pickled}")


def no_such_model(name: str) -> UnknownName:
    """That no model has this name, with those that are near."""
    from difflib import get_close_matches

    from planners.catalogue.names import timm_names

    in_timm = [f"timm:{name}"] if name in timm_names() else []
    near = in_timm or get_close_matches(
        name.lower(), (*names.CATALOGUE, *names.TIMM_SUGGESTED), n=3
    )
    return UnknownName("model", name, near, "models() lists them; timm:NAME and files load too")


def _shapes(name: str, given: Sequence[Any] | None) -> names.Shapes | None:
    """The shapes of all inputs; None for a timm model's own. Raises `UnknownName`, `BadInput`."""
    if name.startswith("timm:") and name not in names.TIMM_SUGGESTED:
        return None if given is None else _checked(name, given, ((1, 3, 224, 224),))
    every = (*names.CATALOGUE, *names.TIMM_SUGGESTED)
    if name not in every:
        raise _of_no_kind(Path(name)) if Path(name).is_file() else no_such_model(name)
    default = names.default_inputs(name)
    return default if given is None else _checked(name, given, default)


def _checked(name: str, given: Any, default: names.Shapes) -> names.Shapes:
    wants = f"{name} takes {'an image such as ' * name.startswith('timm:')}{_text(default)}"
    if not isinstance(given, (list, tuple)) or not given:
        raise BadInput(f"{wants}, not {given!r:.60}")
    several = all(isinstance(shape, (list, tuple)) for shape in given)
    shapes = tuple(map(tuple, given)) if several else (tuple(given),)
    if len(shapes) == 1:
        shapes = shapes * 2 if name in names.OPTICAL_FLOW else (*shapes, *default[1:])
    for shape in shapes:
        if not all(isinstance(n, int) and not isinstance(n, bool) and n > 0 for n in shape):
            raise BadInput(f"{wants}: a shape is whole numbers above zero, not {given!r:.60}")
    if [len(shape) for shape in shapes] != [len(shape) for shape in default]:
        raise BadInput(f"{wants}, not {_text(shapes)}")
    for shape in shapes:
        if _elements(shape) > LARGEST_INPUT:
            raise BadInput(f"{wants}; {_text((shape,))} is more than {LARGEST_INPUT} elements")
    return shapes


def _elements(shape: tuple[int, ...]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


def _text(shapes: names.Shapes) -> str:
    return " and ".join("x".join(map(str, shape)) for shape in shapes)
