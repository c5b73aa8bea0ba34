"""The public interface in functions: everything that the README, notebooks and app call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from planners.core.element_types import Width
from planners.core.errors import BadInput
from planners.core.graph import Graph
from planners.core.layer_times import with_times
from planners.core.machine import Machine, load_machine
from planners.core.plan import Plan, assert_plan
from planners.core.progress import ProgressCallback, now, since
from planners.core.registry import DEFAULT
from planners.core.registry import planner as find_planner
from planners.core.weights import COUNTED, asked_weights
from planners.simulator.bugs import bugs_explained
from planners.simulator.check import require_valid
from planners.simulator.engine_assignment import with_engines
from planners.study.budgets import resolve_budget

if TYPE_CHECKING:
    from planners.audits.blame.blame import Blame
    from planners.audits.foreign import ForeignPlan
    from planners.audits.verdict.audit import Audit
    from planners.core.backends import Code, StreamedRun
    from planners.executor.execute import Execution
    from planners.simulator.simulate import Trace


LITTLE, LEAST_SHARE = 0.02, 0.5
"""Of the time: what is not worth a word, and what is left for planning however long MP takes."""


def plan(
    graph: Graph,
    planner: str = DEFAULT,
    budget: int | str = "MR",
    machine: str | Path | Machine = "npu_small",
    time_limit: float = 60.0,
    progress: ProgressCallback | None = None,
    *,
    replay: bool = True,
    **options: Any,
) -> Plan:
    """Plan a graph on a machine within a budget.

    `budget`: bytes, `"MR"`, `"MH"`, `"MP"`, or a size such as `"256KiB"`; it replaces the
    machine's scratchpad size. The named ones follow from the graph and from what weights do
    (`weights="left-out"`, `"counted"` or `"in-place"`), never from the planner. `time_limit` in
    seconds; `progress` receives stages, incumbents and bounds, and stops planning by returning
    False. `options` are the planner's own, and `times`: a file of what operators take, a
    table (`planners.core.layer_times`) or what Vela, PyTorch's profiler or TFLite's benchmark
    exports (`planners.core.exported_times`), which count on any machine instead of its own.

    The plan is replayed before it is returned, as `check` does; `replay=False` leaves that to the
    caller. Raises `BudgetTooSmall` where nothing fits, `UnknownName` and `BadInput` for wrong
    input, and `InvalidPlan` for a bug in the planner.
    """
    began = now()
    info = find_planner(planner)
    if "times" in options and (info.options is None or "times" not in info.options.specs()):
        graph = with_times(graph, options.pop("times"), load_machine(machine))
    size = resolve_budget(graph, budget, parameters=asked_weights(options) == COUNTED)
    settings = {**options, "time_limit": _left(time_limit, now() - began)}
    result = with_engines(info.plan(graph, load_machine(machine), size, settings, progress))
    if replay:
        with bugs_explained(result):
            require_valid(result, since(began, progress))
    return result


def _left(time_limit: float, spent_s: float) -> float:
    """Seconds left of a limit once a budget is known."""
    limited = isinstance(time_limit, int | float)  # Else the planner says what is wrong with it.
    if limited and spent_s > LITTLE * time_limit > 0:
        return max(0.001, round(max(LEAST_SHARE * time_limit, time_limit - spent_s), 3))
    return time_limit


def simulate(
    plan: Plan, machine: str | Path | Machine | None = None, *, serial: bool = False
) -> Trace:
    """Time, traffic, energy and peak of a plan, on its own machine unless another is given.

    `serial` runs one instruction after the other. Raises `InvalidPlan` and `BadInput`.
    """
    from planners.simulator.simulate import simulate as simulate_plan

    assert_plan(plan)
    return simulate_plan(plan, None if machine is None else load_machine(machine), serial=serial)


def from_torch(
    module: Any,
    example_inputs: Any = None,
    *,
    granularity: str = "fused",
    bytes_per_element: Width | None = None,
    name: str | None = None,
    fold_padding: bool = True,
) -> Graph:
    """The graph of a PyTorch module, through `torch.export`, or of an exported program.

    `example_inputs` fix the shapes: a tensor, a tuple of them, or a dict of keywords; an exported
    program has those of its example, and takes others where it left them open.
    `bytes_per_element`: of every element, or `"native"`: each tensor has those of its own type, as
    by default where a module mixes types (else 1: the papers' simplification, where a `.pt2` file
    of the same module is counted as its types say).

    Raises `ImportFailed`, and `BadInput` for what is no module and for sizes out of range.
    """
    from planners.importers.torch.reader import from_torch as import_module

    return import_module(
        module,
        example_inputs,
        name=name,
        granularity=granularity,
        bytes_per_element=bytes_per_element,
        fold_padding=fold_padding,
    )


def from_darknet(
    path: str | Path,
    input_shape: Sequence[Any] | None = None,
    granularity: str = "fused",
    bytes_per_element: Width | None = None,
    fold_padding: bool = True,
) -> Graph:
    """The graph of a Darknet `.cfg` file, an operator's `block` its section; kept on disk.

    `input_shape` (batch × channels × height × width) replaces one image of the file's own size.
    Detection heads are identities, their maps the outputs. Raises `BadInput` with file and line.
    """
    from planners.catalogue.loading import load_darknet

    return load_darknet(path, input_shape, granularity, bytes_per_element, fold_padding)


def from_onnx(
    path: str | Path,
    input_shape: Sequence[Any] | Mapping[str, int] | None = None,
    granularity: str = "fused",
    bytes_per_element: Width | None = None,
    fold_padding: bool = True,
) -> Graph:
    """The graph of an ONNX file.

    `input_shape` gives the sizes that the file leaves open: one shape, one an input, or sizes by
    the names that the file has for its axes (`{"batch": 1, "sequence": 16}`). Operators that
    nothing is known of need all of their operands and count no MACs; the graph's source notes
    them. Raises `BadInput` with file and node.
    """
    from planners.importers.onnx.reader import from_onnx as import_file

    return import_file(path, input_shape, granularity, bytes_per_element, fold_padding)


def from_pt2(
    path: str | Path,
    input_shape: Sequence[Any] | None = None,
    granularity: str = "fused",
    bytes_per_element: Width | None = None,
    fold_padding: bool = True,
) -> Graph:
    """The graph of a `.pt2` file of `torch.export.save`, as `from_torch` gives it of the module.

    Nothing in the file is run or unpickled, and its weights are not read. The shapes are those of
    its example; `input_shape`, one shape or one an input, gives others where the program left sizes
    open (`dynamic_shapes`). Raises `BadInput` for what is no such file and for sizes out of range,
    `ImportFailed` for programs with custom operators, training or control flow that data decide.
    """
    from planners.importers.pt2.reader import from_pt2 as import_file

    return import_file(path, input_shape, granularity, bytes_per_element, fold_padding)


def execute(
    plan: Plan,
    module: Any = None,
    inputs: Any = None,
    *,
    seed: int = 0,
    float64: bool = False,
) -> Execution:
    """Run a plan on real numbers in an arena of exactly its bytes, beside eager PyTorch.

    Without `module` and `inputs`, the graph's own model is built with random weights from `seed`.
    With `float64` the result says how far the plan's numbers and eager float32's own are from a
    run of the module in float64. Of a plan for a `.tflite` file, `module` is that file's path and
    `inputs` are arrays as it lays them, drawn by chance from `seed` if not given: the reference is
    then the file run in whole tensors, by kernels that equal TensorFlow Lite Micro's.
    Raises `InvalidPlan` where the program is wrong, `BadInput` where the model is not available:
    graphs of ONNX files are not executed.
    """
    from planners.executor.execute import execute as run

    assert_plan(plan)
    if "tflite" in plan.graph.source and isinstance(module, (str, Path)):
        from planners.executor.tflite import execute_tflite

        return execute_tflite(plan, module, inputs, seed=seed)
    if module is None or {"onnx", "tflite"} & plan.graph.source.keys():
        from planners.catalogue import build

        module, built = build(plan.graph.source, seed=seed)
        inputs = built if inputs is None else inputs
    return run(plan, module, inputs, float64=float64)


def stream(
    plan: Plan,
    module: Any = None,
    inputs: Any = None,
    weights: str | Path | None = None,
    *,
    seed: int = 0,
    device: str = "cpu",
    repeats: int = 1,
    threads: int | None = None,
) -> StreamedRun:
    """Run a streaming plan from disk in rings of its bytes, beside the same model preloaded.

    Without `module` and `inputs`, the graph's own model is built with random weights from `seed`;
    without `weights` (a file that `write_weights` wrote for the graph) they go to a temporary file
    first. Of several `repeats` the one with the median delay is reported; `threads` are PyTorch's
    for a kernel. Raises `BadInput` for what does not fit, and for storage that fails or stalls.
    """
    from planners.core.backends import RUN_FROM_DISK

    assert_plan(plan)
    return RUN_FROM_DISK.function()(
        plan, module, inputs, weights, seed=seed, device=device, repeats=repeats, threads=threads
    )


def write_weights(path: str | Path, plan: Plan, module: Any, inputs: Any) -> int:
    """Write a module's parameters as safetensors in the order in which a plan streams them.

    Returns the file's bytes. It serves every streaming plan of the graph with the same slices.
    Raises `BadInput` where the module is not the graph's.
    """
    from planners.core.backends import WRITE_WEIGHTS

    assert_plan(plan)
    return WRITE_WEIGHTS.function()(path, plan, module, inputs)


def write_code(
    plan: Plan,
    folder: str | Path,
    module: Any = None,
    inputs: Any = None,
    *,
    weights: Literal["model", "random"] = "model",
    seed: int = 0,
) -> Code:
    """Write an overlap plan as C99 that runs in int8 in one pool of exactly the planned bytes.

    The weights are those of `module`, quantised on `inputs` (the arguments of one call). Without
    them, the graph's own model is built with random weights from `seed`; with `weights="random"`
    no model is needed. The folder is new, empty, or one that this wrote before; any other is left
    as it is. Raises `BadInput`.
    """
    from planners.core.backends import WRITE_CODE

    assert_plan(plan)
    if module is None and weights == "model":
        if not {"catalogue", "darknet"} & set(plan.graph.source):
            raise BadInput(
                f"{plan.graph.name!r:.60} is not a catalogue model that could be built: give a "
                "module and its inputs, or let the weights be random"
            )
        from planners.catalogue import build

        module, built = build(plan.graph.source, seed=seed)
        inputs = built if inputs is None else inputs
    calibration = [] if inputs is None else [inputs]
    return WRITE_CODE.function()(plan, folder, module, calibration, seed=seed)


def audit(
    plan: str | Path | ForeignPlan,
    *,
    memory: str | None = None,
    changes: bool = True,
    measure: bool = True,
    time_limit: float = 60.0,
    should_stop: Callable[[], bool] | None = None,
) -> Audit:
    """Audit another tool's plan: conflicts, its peak, the proven least, and what binds.

    `plan` is a file (`.tflite`, `.pte`, CSV with offsets, a listing of Vela or XLA) or what a
    reader made of one; `memory` judges one of its memories only. With `changes`, and where the file
    has the network, `gains` says what each change would buy. With `measure`, TensorFlow Lite Micro
    itself is run on its file where the wheel is installed, to record the whole arena: native code,
    not for files of strangers. `time_limit` in seconds is for all but that: what is not proven by
    then says so. Raises `BadInput` for what is no such file.
    """
    from planners.audits.readers.by_format import read_plan
    from planners.audits.verdict.audit import audit_plan

    given = read_plan(plan) if isinstance(plan, str | Path) else plan
    return audit_plan(
        given,
        memory=memory,
        changes=changes,
        measure=measure,
        time_limit=time_limit,
        should_stop=should_stop,
    )


def blame(
    plan: Plan | Audit | str | Path,
    *,
    time_limit: float = 30.0,
    should_stop: Callable[[], bool] | None = None,
) -> Blame:
    """What a peak is made of, by kind, block and tensor, each with the cheapest change that makes
    it fewer bytes and the peak lower: planned and replayed, not estimated.

    `plan` is of any planner, or a file of one; or another tool's, as `audit` reads or has judged
    it. `time_limit` in seconds is for all changes. Raises `BadInput` for what is no plan,
    `InvalidPlan` for one that is wrong.
    """
    from planners.audits.blame.blame import blame_audit, blame_plan

    if isinstance(plan, str | Path):
        ours = Path(plan).suffix.lower() in (".json", ".html")
        arguments: Any = {"measure": False, "time_limit": time_limit, "should_stop": should_stop}
        plan = Plan.load(plan) if ours else audit(plan, **arguments)
    if isinstance(plan, Plan):
        return blame_plan(plan, time_limit=time_limit, should_stop=should_stop)
    return blame_audit(plan)
