"""Plans for `.tflite` files on real numbers: the file's weights, and the runtime's arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from planners.core.access import needs
from planners.core.boxes import within
from planners.core.errors import BadInput
from planners.core.gc_pause import no_collection
from planners.core.graph import Operator
from planners.core.plan import Plan
from planners.core.program import Box, Compute, whole
from planners.executor.arena import torch_type
from planners.executor.execute import Execution, Made, ProgramRunner, differences
from planners.executor.parts import Fetch
from planners.importers.tflite.source_model import TfliteModel
from planners.simulator.check import replay

BESIDE = "the file run in whole tensors"


@no_collection()
def execute_tflite(
    plan: Plan, path: str | Path, inputs: Sequence[Any] | None = None, *, seed: int = 0
) -> Execution:
    """Run a plan's program with the file's own weights, and the file itself in whole tensors.

    Inputs and outputs are arrays as the file lays them; without `inputs` they are drawn by chance
    from `seed`. Raises `InvalidPlan` for a program that is not right, and `BadInput` for another
    file than that of the plan, or one with an operator that has no kernel here.
    """
    replay(plan.graph, plan.program)
    wanted = plan.graph.source.get("tflite", {})
    model = TfliteModel(path, wanted.get("shapes"))
    if wanted.get("sha256") != model.file.digest:
        raise BadInput(
            f"{path} is not the file that the plan was made from: that is "
            f"{wanted.get('file', 'no .tflite file')!s:.80}, of other bytes"
        )
    try:
        given = model.random_inputs(seed) if inputs is None else list(inputs)
        return _executed(plan, model, given)
    except MemoryError as error:
        raise BadInput(f"{path} cannot be executed here: {error!s:.80}") from error


def _executed(plan: Plan, model: TfliteModel, given: list[Any]) -> Execution:
    runner = _Runner(plan, model, given)
    for item in plan.program.instructions:
        runner.run(item)
    outputs, state = runner.outputs(), runner.state()
    reference, kept = _reference(model, given)
    tensors = [torch.from_numpy(np.ascontiguousarray(value)) for value in outputs]
    expected = [torch.from_numpy(np.ascontiguousarray(value)) for value in reference]
    pairs = [*zip(tensors, expected, strict=True), *((state[n], kept[n]) for n in state)]
    return Execution(
        outputs=outputs,
        reference=reference,
        **differences(pairs),
        arena_bytes=runner.arena.size_bytes,
        compute_steps=runner.computed,
        state=state,
        beside=BESIDE,
    )


def _reference(model: TfliteModel, inputs: Sequence[Any]) -> tuple[Any, dict[str, torch.Tensor]]:
    """What the file returns, and what it keeps."""
    given = model.input_values(inputs)
    state = model.found.trace.state
    results = model.run(given, [*model.found.outputs, *state.values()])
    values = {**given, **results}

    def kept(name: str) -> torch.Tensor:
        return values[name] if name in values else model.parameter(name)

    return model.outputs(values), {name: kept(new) for name, new in state.items()}


class _Runner(ProgramRunner):
    """A runner whose kernels make whole values: a part is cut from one made of what is read.

    Whatever is not read is zero then, so that a part that needs it comes out wrong.
    """

    def __init__(self, plan: Plan, file: TfliteModel, inputs: Sequence[Any]) -> None:
        self.file = file
        super().__init__(plan, file, inputs)  # type: ignore[arg-type]  # it has all that is asked

    def _part(self, op: Operator, item: Compute) -> dict[str, Made] | None:
        return None

    def _known(
        self, op: Operator, box: Box, sums: tuple[int, int], fetch: Fetch, last: bool
    ) -> dict[str, torch.Tensor]:
        """Operands of a part of a sum: what is not in it counts as zero."""
        values = {}
        for name, part in needs(self.graph, op, op.outputs[0], box, sums, last=last):
            tensor = self.graph.tensors[name]
            value = torch.full(tensor.shape, self.file.zero(name), dtype=torch_type(tensor))
            if all(start < stop for start, stop in part):
                value[within(part, whole(tensor).box)] = fetch(name, part)
            values[name] = value
        return values

    def _products(
        self, op: Operator, box: Box, sums: tuple[int, int], fetch: Fetch
    ) -> torch.Tensor:
        operands = self._known(op, box, sums, fetch, last=False)
        sums_here = self.file.sums(op.parts[0].name, operands)
        return sums_here[within(box, whole(self.graph.tensors[op.outputs[0]]).box)].contiguous()

    def _finished(self, op: Operator, box: Box, total: torch.Tensor, fetch: Fetch) -> torch.Tensor:
        operands = self._known(op, box, (0, 0), fetch, last=True)
        every = whole(self.graph.tensors[op.outputs[0]]).box
        sums = torch.zeros(self.graph.tensors[op.outputs[0]].shape, dtype=total.dtype)
        sums[within(box, every)] = total
        first, *rest = (part.name for part in op.parts)
        operands[first] = self.file.finish(first, sums, operands)
        values = {**operands, **self.file.evaluate(rest, operands)}
        return values[op.outputs[0]][within(box, every)]
