"""What eager PyTorch has for each value of a saved program, and half of what its counter counts."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

VECTORS = {
    torch.ops.aten.matmul.default,
    torch.ops.aten.mv.default,
    torch.ops.aten.dot.default,
    torch.ops.aten.vdot.default,
}


class _Recorder(torch.fx.Interpreter):
    """Runs a program and writes down each tensor."""

    def __init__(self, module: torch.fx.GraphModule, given: set[str], counter: Any) -> None:
        super().__init__(module)
        self.seen: dict[str, tuple[list[int], str, bool]] = {}
        self.given, self.counter, self.reached = given, counter, set[str]()
        self.vector_macs = self.of_weights = 0

    def run_node(self, n: torch.fx.Node) -> Any:
        before = self.counter.get_total_flops() // 2 + self.vector_macs
        value = super().run_node(n)
        if isinstance(value, torch.Tensor):
            dtype = str(value.dtype).removeprefix("torch.")
            self.seen[n.name] = (list(value.shape), dtype, n.op == "placeholder")
        more = self._of_vectors(n)
        self.vector_macs += more
        now = self.counter.get_total_flops() // 2 + self.vector_macs
        operands = {node.name for node in n.all_input_nodes}
        if n.name in self.given or not self.reached.isdisjoint(operands):
            self.reached.add(n.name)
        else:
            self.of_weights += now - before
        return value

    def _of_vectors(self, n: torch.fx.Node) -> int:
        """MACs of a product with a vector or of whole numbers, which the counter leaves out."""
        if n.op != "call_function" or n.target not in {*VECTORS, torch.ops.aten._int_mm.default}:
            return 0
        first, second = self.fetch_args_kwargs_from_env(n)[0][:2]
        if n.target not in VECTORS:
            return prod(first.shape) * second.shape[1]
        return prod(first.shape) if second.dim() == 1 else 0


def oracle(path: Path, given: tuple[Any, ...], program: Any = None) -> dict[str, Any]:
    """Shapes and types of all values, for these inputs; of the program where PyTorch gives it.

    Without one the file is read again.
    """
    program = program or torch.export.load(path)
    signature = program.graph_signature
    stored = {**program.state_dict, **program.constants}
    written = {spec.target for spec in signature.output_specs} - {None}
    left, flat = list(torch.utils._pytree.tree_leaves(given)), []
    for spec in signature.input_specs:
        flat.append(left.pop(0) if spec.target is None else stored[spec.target])
    counter = FlopCounterMode(display=False)
    changed = {spec.arg.name for spec in signature.input_specs if spec.target in written}
    given_names = {*signature.user_inputs, *changed}
    recorder = _Recorder(program.graph_module, given_names, counter)
    plain = torch.backends.mkldnn.flags(enabled=False)
    with torch.no_grad(), plain, sdpa_kernel(SDPBackend.MATH), counter:
        recorder.run(*flat)
    kinds = {str(n.target) for n in program.graph.nodes if n.op == "call_function"}
    return {
        "file": path.name,
        "input_shape": None,
        "inputs": list(signature.user_inputs),
        "outputs": [name for name in signature.user_outputs if isinstance(name, str)],
        "tensors": [[name, *what] for name, what in recorder.seen.items()],
        "macs": counter.get_total_flops() // 2 + recorder.vector_macs,
        "of_weights": recorder.of_weights,
        "silent": [],
        "kinds": sorted(kinds),
    }
