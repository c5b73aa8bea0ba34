"""The source of a graph with its real weights, run call by call for the executor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from planners.core.calibration import Calibration, CallFacts
from planners.core.errors import BadInput
from planners.core.graph import Graph
from planners.importers.passes import needed
from planners.importers.torch.steps import Ref, TorchTrace, fill, refs
from planners.importers.torch.trace import example, trace_module


class SourceModel:
    """A module whose calls can be run by the names that its graph gives them.

    `example_inputs` must have the shapes that the graph was made with. Gradients are off
    throughout, and every result is what eager PyTorch computes, bit by bit.
    """

    def __init__(self, module: torch.nn.Module, example_inputs: Any) -> None:
        self._module = module
        self._traced: TorchTrace = trace_module(module, example_inputs)
        self._calls = {call.name: call for call in self._traced.trace.calls}

    def evaluate(
        self,
        names: Sequence[str],
        given: Mapping[str, torch.Tensor],
        run: Callable[[str, Any, list[Any], dict[str, Any]], Any] | None = None,
    ) -> dict[str, torch.Tensor]:
        """Run these calls in order and return their values by name.

        `given` gives the values that they read and do not compute; parameters missing there are
        the module's own. Nothing in `given` is written. `run` makes a call's value in its place,
        given its name, function and arguments: of what a pad that was folded into it would have
        padded, in a window of which `run` knows the padding. Raises `BadInput` where a value is
        missing.
        """
        results: dict[str, Any] = {}

        def value(name: str) -> Any:
            for place in (results, given, self._traced.parameters):
                if name in place:
                    return place[name]
            call, step = self._calls.get(name), self._traced.steps.get(name)
            if call is not None and step is not None and call.pads:
                if run is not None:
                    return value(call.reads[0])
                return step.target(*fill(step.args, value), **fill(dict(step.kwargs), value))
            raise BadInput(f"the value {name!r} is needed here and is not known")

        with torch.no_grad():
            for name in names:
                step = self._traced.steps.get(name)
                if step is None:
                    raise BadInput(f"the model has no call named {name!r}")
                args, kwargs = fill(step.args, value), fill(dict(step.kwargs), value)
                if run is None:
                    results[name] = step.target(*args, **kwargs)
                else:
                    results[name] = run(name, step.target, args, kwargs)
        return {name: v for name, v in results.items() if isinstance(v, torch.Tensor)}

    def parameter(self, name: str) -> torch.Tensor:
        """A parameter, buffer or constant by its graph name, the module's own: do not write it.

        Whether it requires a gradient decides which kernel some products take, even with gradients
        off: a copy equals eager bit by bit only with the same flag. Raises `BadInput`.
        """
        try:
            return self._traced.parameters[name]
        except KeyError:
            raise BadInput(f"the model has no parameter named {name!r}") from None

    def forget_parameters(self) -> None:
        """Drop the module's own parameters: every one that a call reads must then be known."""
        self._traced = replace(self._traced, parameters={})

    def is_parameter(self, name: str) -> bool:
        """Whether `parameter` has this name."""
        return name in self._traced.parameters

    def arguments(self, name: str) -> dict[str, Any]:
        """A call's arguments by schema name, defaults included; a `Ref` for each traced value.

        A call without a schema, as that which picks an item, has none.
        """
        step = self._traced.steps[name]
        schema = getattr(step.target, "_schema", None)
        if schema is None:
            return {}
        defaults = {a.name: a.default_value for a in schema.arguments if a.has_default_value()}
        named = {a.name: value for a, value in zip(schema.arguments, step.args)}
        return defaults | named | dict(step.kwargs)

    def input_values(self, inputs: Any) -> dict[str, torch.Tensor]:
        """The tensors of the model's arguments by graph input name."""
        leaves = torch.utils._pytree.tree_leaves(example(self._module, inputs))
        tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        wanted = [tensor for tensor in self._traced.trace.inputs if tensor.kind == "input"]
        if [tuple(t.shape) for t in tensors] != [t.shape for t in wanted]:
            need = ", ".join(f"{t.name} {'x'.join(map(str, t.shape))}" for t in wanted)
            raise BadInput(f"the model was traced for the inputs {need}; these differ")
        return {t.name: value for t, value in zip(wanted, tensors)}

    def outputs(self, given: Mapping[str, torch.Tensor]) -> Any:
        """What the model returns, in its own structure, from the stored tensors in `given`."""
        returns = self._traced.returns
        wanted = [leaf.name for leaf in returns if isinstance(leaf, Ref)]
        values = {**given, **self.evaluate(self._missing(wanted, given), given)}

        def value(name: str) -> Any:
            return values[name] if name in values else self.parameter(name)

        leaves = [fill(leaf, value) for leaf in returns]
        return torch.utils._pytree.tree_unflatten(leaves, self._traced.out_spec)

    @property
    def owners(self) -> Mapping[str, str]:
        """The module's path of each tensor that it keeps from run to run, by graph name."""
        return self._traced.owners

    def _missing(self, wanted: Iterable[str], given: Mapping[str, Any]) -> list[str]:
        names = needed(self._calls, wanted, given)
        return [name for name in self._calls if name in names]


# ---- A module's parameters as a graph's calls use them, and the ranges of its values -------------


def calibrate(
    graph: Graph, module: torch.nn.Module, inputs: Iterable[Sequence[torch.Tensor]]
) -> Calibration:
    """Run the module on each of `inputs`, all arguments of one call each, and note the ranges.

    The module is the one that the graph was made of, in eval mode, on inputs of its shapes.
    Raises `BadInput` without inputs, for a value that is not finite, or for another module.
    """
    given = [example(module, item) for item in inputs]
    if not given:
        raise BadInput("calibration needs the arguments of at least one call of the module")
    source = SourceModel(module, given[0])
    ranges: dict[str, tuple[float, float]] = {}
    for arguments in given:
        stored = dict(source.input_values(arguments))
        _widen(ranges, stored)
        for op in graph.operators:
            values = source.evaluate([part.name for part in op.parts], stored)
            _widen(ranges, values)
            stored.update({name: values[name] for name in op.outputs})
    names = dict.fromkeys(part.name for op in graph.operators for part in op.parts)
    return Calibration({name: _facts(source, name) for name in names}, ranges)


def _widen(ranges: dict[str, tuple[float, float]], values: Mapping[str, torch.Tensor]) -> None:
    for name, value in values.items():
        if not value.is_floating_point():
            continue
        low, high = (float(bound) for bound in torch.aminmax(value.detach()))
        if not (abs(low) < float("inf") and abs(high) < float("inf")):
            raise BadInput(f"the value {name!r} is not finite on the calibration inputs")
        before = ranges.get(name, (low, high))
        ranges[name] = min(low, before[0]), max(high, before[1])


def _facts(source: SourceModel, name: str) -> CallFacts:
    parameters: dict[str, Any] = {}
    settings: dict[str, Any] = {}
    for argument, value in source.arguments(name).items():
        if isinstance(value, Ref) and source.is_parameter(value.name):
            tensor = source.parameter(value.name).detach()
            parameters[argument] = tensor.to(torch.float64).numpy()
        elif not refs(value):
            settings[argument] = value
    return CallFacts(parameters, settings)
