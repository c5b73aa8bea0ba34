"""What is asked of one network: is it read right, planned by all, and do its plans compute it?"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import torch

import planners as sp
from planners.core.caveats import caveats
from planners.importers.torch.source_model import SourceModel
from tests.importers.replay import replay
from zoo_parts.case import Case
from zoo_parts.eager import MacCounter, counted, held_parameters
from zoo_parts.runtime import RuntimeFacts

PLANNERS = ("cosma", "fusion", "overlap", "streaming")
SEARCH_S = 0.5
EXECUTED_INSTRUCTIONS = 10_000
EXECUTED_MACS = 1_000_000_000
CLOSE = 1e-4
"""Of the output's size: kernels on pieces add in another order."""

Row = dict[str, Any]
Tell = Callable[[Row], None]


class TooSlow(BaseException):
    """The processor's time for a plan is over."""


def examine(case: Case, tell: Tell, plan_s: float) -> None:
    """Tell what there is to say about a network, piece by piece, so that nothing is lost.

    A plan with its replay has `plan_s` processor seconds: what takes longer has no verdict.
    """
    with _exported_once():
        graph = _imported(case, tell)
        if graph is None:
            return
        for name, compare in _comparisons(case, graph):
            tell({"facts": {name: _said(compare)}})
        budgets = sp.budgets(graph, time_limit=SEARCH_S)
        tell({"MR": budgets.MR, "MP": budgets.MP})
        sizes = [budgets.MR, budgets.MP if budgets.MP > budgets.MR else 2 * budgets.MR]
        for planner in PLANNERS:
            told = _PlannerTest(case, graph, planner, plan_s, tell)
            tell({"plans": {planner: told.verdicts(sizes)}})
    tell({"done": True})


def _said(compare: Callable[[], str]) -> str:
    try:
        return compare()
    except Exception as error:
        return f"not compared: {_line(error)}"


def _line(error: BaseException) -> str:
    text = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {text[0]}"[:300]


def _imported(case: Case, tell: Tell) -> sp.Graph | None:
    try:
        graph = _read(case)
    except sp.SpillwayError as error:
        tell({"read": "refused", "said": str(error), "lines": len(str(error).splitlines())})
        return None
    except Exception as error:
        tell({"read": "failed", "said": _line(error)})
        return None
    said = caveats(graph)
    tell(
        {
            "read": "read",
            "operators": len(graph.operators),
            "parameters": graph.parameter_count,
            "macs": graph.macs,
            "opaque": sorted({said.kinds[name] for name in said.opaque}),
            "uncounted": sorted({said.kinds[name] for name in said.uncounted}),
        }
    )
    return graph


def _read(case: Case) -> sp.Graph:
    if case.path is None:
        return sp.from_torch(case.module, case.inputs)
    if case.path.suffix == ".pt2":
        return sp.from_pt2(case.path)
    return sp.from_onnx(case.path, case.input_shape)


def _comparisons(case: Case, graph: sp.Graph) -> Iterator[tuple[str, Callable[[], str]]]:
    """What is compared, with what, as functions that say `equal` or what differs."""
    if case.path is not None and case.path.suffix == ".onnx":
        shapes = {name: graph.tensors[name].shape for name in graph.inputs}
        facts: list[RuntimeFacts] = []

        def runtime() -> RuntimeFacts:
            if not facts:
                facts.append(RuntimeFacts(case.path, shapes))
            return facts[0]

        yield "macs", lambda: _file_macs(graph, runtime())
        yield "parameters", lambda: _file_weights(graph, runtime())
        yield "shapes", lambda: _file_shapes(graph, runtime())
        return
    runs: list[MacCounter] = []

    def run() -> MacCounter:
        if not runs:
            runs.append(counted(_plain(case), _copies(case)))
        return runs[0]

    yield "macs", lambda: _module_macs(graph, run())
    yield "parameters", lambda: _module_parameters(_plain(case), graph, run())
    yield "computed", lambda: _computed(case, graph)


def _plain(case: Case) -> torch.nn.Module:
    exported = isinstance(case.module, torch.export.ExportedProgram)
    return case.module.module() if exported else case.module


def _module_macs(graph: sp.Graph, counter: MacCounter) -> str:
    theirs = sum(counter.macs.values())
    if said := _equal_macs(graph, theirs, counter.of_weights):
        return said
    ours: Counter[str] = Counter()
    for op in graph.operators:
        ours[op.kind] += op.macs
    return f"{graph.macs}, torch counts {theirs}: {_counts(ours)} | {_counts(counter.macs)}"


def _equal_macs(graph: sp.Graph, theirs: int, of_weights: int) -> str:
    """What weights alone decide is run, and counted, by each operator that reads it."""
    more = graph.macs - theirs
    if 0 < more <= of_weights * len(graph.operators):
        return f"equal with {more} of products of weights, again for each reader"
    return "" if more else "equal"


def _counts(counts: Counter[str]) -> str:
    return ", ".join(f"{kind} {count}" for kind, count in sorted(counts.items()) if count)


def _module_parameters(module: torch.nn.Module, graph: sp.Graph, counter: MacCounter) -> str:
    """Parameters that a run of the module reads, against those of the graph, by their memory."""
    names = held_parameters(module)
    ours = {
        names[name].untyped_storage()._cdata
        for name, tensor in graph.tensors.items()
        if tensor.kind == "parameter" and name in names
    }
    read = {place: name for name, p in names.items() for place in [p.untyped_storage()._cdata]}
    lost, more = counter.read - ours, ours - counter.read
    for name, tensor in graph.tensors.items():
        if name in names and tensor.shape != tuple(names[name].shape):
            return f"{name} is {tuple(names[name].shape)} in the module, {tensor.shape} here"
    if not lost and not more:
        return "equal"
    return (
        f"{len(lost)} that it reads are missing ({', '.join(sorted(read[p] for p in lost)[:4])}), "
        f"{len(more)} that it does not read are there"
    )


def _computed(case: Case, graph: sp.Graph) -> str:
    """The graph run operator by operator, against the module: shapes and values."""
    module = _plain(case)
    with torch.no_grad():
        expected = module(*_copies(case))
    found = replay(graph, SourceModel(case.module or module, case.inputs), _copies(case))
    worst = _difference(found, expected)
    return "equal" if worst <= CLOSE else f"differs by {worst:.3g} of the output's size"


def _copies(case: Case) -> tuple[Any, ...]:
    copy = torch.utils._pytree.tree_map_only
    return copy(torch.Tensor, lambda t: t.clone(), case.inputs)


def _difference(found: Any, expected: Any) -> float:
    """The largest error of an output, over that output's size."""
    worst = 0.0
    leaves = torch.utils._pytree.tree_leaves
    a, b = ([t for t in leaves(v) if isinstance(t, torch.Tensor)] for v in (found, expected))
    if [t.shape for t in a] != [t.shape for t in b]:
        return float("inf")
    for one, other in zip(a, b, strict=True):
        one, other = (torch.view_as_real(t) if t.is_complex() else t for t in (one, other))
        one, other = one.double(), other.double()
        size = max(1.0, float(other.nan_to_num().abs().max()))
        if not torch.equal(one.isnan(), other.isnan()):
            return float("inf")
        worst = max(worst, float((one - other).nan_to_num().abs().max()) / size)
    return worst


def _file_macs(graph: sp.Graph, facts: RuntimeFacts) -> str:
    if facts.silent:
        return f"not compared: it has {', '.join(facts.silent)}"
    said = _equal_macs(graph, facts.macs, facts.of_weights)
    return said or f"{graph.macs}, by the shapes that onnxruntime gives {facts.macs}"


def _file_weights(graph: sp.Graph, facts: RuntimeFacts) -> str:
    """Initialisers of several numbers, that live nodes read, against the graph's parameters."""
    for name, tensor in graph.tensors.items():
        theirs = facts.weights.get(name, tensor.shape)
        if sorted(theirs) != sorted(tensor.shape):  # a linear layer's weight is turned
            return f"{name} is {facts.weights[name]} in the file, {tensor.shape} here"
    known = {name for name, tensor in graph.tensors.items() if tensor.kind == "parameter"}
    large = {
        name: shape
        for node in facts.live
        for name in node.input
        if (shape := facts.weights.get(name)) and torch.Size(shape).numel() > 64
    }
    if lost := sorted(large.keys() - known):
        return f"{len(lost)} weights are missing: {', '.join(lost[:4])}"
    return "equal"


def _file_shapes(graph: sp.Graph, facts: RuntimeFacts) -> str:
    compared = 0
    for name, tensor in graph.tensors.items():
        if name in facts.values:
            if tensor.kind == "parameter":
                continue  # compared with the file's, where a linear layer's is turned
            compared += 1
            shape, kind = facts.values[name]
            if shape != tensor.shape:
                return f"{name} is {shape} in onnxruntime, {tensor.shape} here"
            if kind != tensor.dtype and (kind, tensor.dtype) != ("bool", "bool"):
                return f"{name} is {kind} in onnxruntime, {tensor.dtype} here"
    return "equal" if compared else "not compared: no value keeps its name"


@dataclass
class _PlannerTest:
    """One planner on one network: planned, checked and, once, executed."""

    case: Case
    graph: sp.Graph
    planner: str
    plan_s: float
    tell: Tell
    executed: bool = False

    def verdicts(self, sizes: list[int]) -> list[str]:
        """What became of each budget; where one is too small, of what is said to be needed."""
        found: list[str] = []
        for size in sizes:
            verdict, need = self._plan(size)
            if need is not None:
                again, more = self._plan(need)
                verdict = "needs more, then valid"
                if more is not None:
                    verdict = f"FAILED: says {need} bytes are enough, then that {more} are"
                elif again != "valid":
                    verdict = f"needs more, then {again}"
            found.append(verdict)
            if verdict != "valid":
                break
        return found

    def _plan(self, size: int) -> tuple[str, int | None]:
        try:
            with _within(self.plan_s):
                plan = sp.plan(self.graph, self.planner, size, time_limit=SEARCH_S)
        except sp.BudgetTooSmall as error:
            return "needs more", error.need_bytes
        except TooSlow:
            return "no time", None
        except sp.InvalidPlan as error:
            return f"INVALID: {_line(error)}", None
        except sp.SpillwayError as error:
            return f"refused: {_line(error)}", None
        except Exception as error:
            return f"FAILED: {_line(error)}", None
        self._execute(plan)
        return "valid", None

    def _execute(self, plan: sp.Plan) -> None:
        module = self.case.module if self.case.path is None else None
        if self.executed or module is None or self.graph.macs > EXECUTED_MACS:
            return
        few = range(EXECUTED_INSTRUCTIONS + 1)
        if sum(1 for _ in zip(few, plan.program.instructions)) > EXECUTED_INSTRUCTIONS:
            return
        self.executed = True
        verdict = "no time"
        with suppress(TooSlow), _within(self.plan_s):
            try:
                found = sp.execute(plan, module, _copies(self.case))
                worst = _difference(found.outputs, found.reference)
                verdict = "equal" if worst <= CLOSE else f"DIFFERS by {worst:.3g}"
            except sp.BadInput as error:
                verdict = f"refused: {error}"
            except Exception as error:
                verdict = f"FAILED: {_line(error)}"
        self.tell({"executed": {self.planner: verdict}})


@contextmanager
def _within(seconds: float) -> Iterator[None]:
    """Raise `TooSlow` where what is in it uses more of the processor."""

    def stop(number: int, frame: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@contextmanager
def _exported_once() -> Iterator[None]:
    """Exports of one module are the same each time: the first is kept, to save the time."""
    export, kept = torch.export.export, {}

    def once(module: Any, *args: Any, **kwargs: Any) -> Any:
        if id(module) not in kept:
            kept[id(module)] = export(module, *args, **kwargs)
        return kept[id(module)]

    torch.export.export = once
    try:
        yield
    finally:
        torch.export.export = export
