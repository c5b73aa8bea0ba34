"""Calls that write into memory, as calls that give its new content."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from operator import getitem
from typing import Any

import torch

from planners.core.errors import ImportFailed
from planners.core.graph import Tensor
from planners.core.relations import Relation
from planners.importers.passes import Call
from planners.importers.torch import ops as torch_ops
from planners.importers.torch import relations as torch_relations
from planners.importers.torch.recorded import Alias, RecordedCalls, like, new_alias, tensor_of
from planners.importers.torch.steps import CallStep, Ref, WriteThrough, refs

FILLED = dict.fromkeys(
    "zeros zeros_like new_zeros empty empty_like empty_strided empty_permuted new_empty "
    "new_empty_strided full_like new_full zero fill".split(),
    0,
) | dict.fromkeys("ones_like new_ones".split(), 1)
"""Calls that make a tensor of one number, which is given or this."""

SET = frozenset({"copy", "fill", "zero"})
"""Calls whose value does not depend on what they write over."""

_MOST_PLACES = 2**26
_RESIZES = {"resize_", "resize_as_", "set_"}


@dataclass
class WritingCalls(RecordedCalls):
    """Records writes: of a whole value, or through the views that lead to a part of one."""

    def filled(
        self, node: Any, kind: str, named: Mapping[str, Any], value: Any, alias: Alias | None = None
    ) -> None:
        """A tensor made like another one, of which only the shape matters: a constant.

        What nothing was written into yet is taken to be zeros.
        """
        filling = named.get("fill_value", named.get("value", FILLED.get(kind)))
        if isinstance(filling, torch.fx.Node):
            raise ImportFailed(f"{self.label}: {node.name} fills with a computed value")
        step = CallStep(
            torch.ops.aten.full.default, (tuple(value.shape), filling), {"dtype": value.dtype}
        )
        self.add(Call(node.name, kind, (), tensor_of(node.name, value)), step)
        if alias is None:
            self.aliases[node.name] = new_alias(node.name)
        else:
            alias.written(node.name)

    def write(self, node: Any, kind: str, named: Mapping[str, Any]) -> None:
        """A call that writes its first operand, as one that gives the new content."""
        target = node.args[0]
        alias = self.aliases[target.name]
        self.refuse_write(node, kind, alias)
        self.aliases[node.name] = alias
        if alias.parent is None and kind in ("fill_", "zero_"):
            return self.filled(node, kind.removesuffix("_"), named, node.meta["val"], alias)
        if kind == "copy_" and self._copies_itself(alias, node.args[1]):
            return
        call, step = self.recorded(node, torch_ops.out_of_place(kind), named)
        if call.tensor is None:  # It returns nothing.
            call = replace(call, tensor=tensor_of(call.name, target.meta["val"]))
        self._refuse_overlap(node, alias)
        if alias.parent is not None and self._seen_later(node, alias):
            self._write_through(alias, call, step)
            return
        self.add(*self._whole(node, call, step))
        alias.written(node.name)

    def refuse_write(self, node: Any, kind: str, alias: Alias) -> None:
        """Raise `ImportFailed` for writes of a parameter, and for state of another shape."""
        if alias.memory.fixed:
            raise ImportFailed(
                f"{self.label}: {node.name} writes the module's own {alias.memory.owner!r}, a "
                "parameter: make it a buffer"
            )
        if alias.memory.owner and kind in torch_ops.RESHAPES_IN_PLACE | _RESIZES:
            raise ImportFailed(
                f"{self.label}: {node.name} gives the module's own {alias.memory.owner!r} another "
                "shape: keep its shape, and write into it"
            )

    def batch_norm(self, node: Any, named: Mapping[str, Any]) -> None:
        """One that normalises with the batch's own mean and variance, and moves what it keeps."""
        kept = [named["running_mean"], named["running_var"]]
        if None in kept:
            self.add(*self.recorded(node, "native_batch_norm", named))
            self.aliases[node.name] = new_alias(node.name)
            return
        functional = torch.ops.aten._native_batch_norm_legit_functional.default
        everything = self.unused(node.name, "all")
        call, step = self.recorded(node, "native_batch_norm", named)
        self.add(
            replace(call, name=everything, tensor=None),
            replace(step, target=functional, args=step.args[:8], kwargs={}),
        )
        names = [node.name, *(self.unused(node.name, word) for word in ("mean", "variance"))]
        for index, name, like_ in zip((0, 3, 4), names, (node, *kept), strict=True):
            tensor = tensor_of(name, like_.meta["val"])
            self.add(
                Call(name, "getitem", (everything,), tensor, item=True),
                CallStep(getitem, (Ref(everything), index), {}),
            )
        self.aliases[node.name] = new_alias(node.name)
        for one, name in zip(kept, names[1:], strict=True):
            alias = self.aliases[one.name]
            self.refuse_write(node, "batch_norm", alias)
            if alias.parent is None:
                alias.written(name)
            else:
                write = CallStep(torch.ops.aten.copy_.default, (None, Ref(name)), {})
                self._write_through(alias, replace(call, name=self.unused(name, "kept")), write)

    def _copies_itself(self, alias: Alias, source: Any) -> bool:
        """Whether `x[i] += y` ends here: the part just written in place is copied onto itself."""
        other = self.aliases.get(getattr(source, "name", ""))
        if other is None or other.memory is not alias.memory:
            return False
        return self.path(alias) == self.path(other)

    def _refuse_overlap(self, node: Any, alias: Alias) -> None:
        """What is read while it is written has no value that PyTorch would vouch for."""
        for operand in node.all_input_nodes[1:]:
            other = self.aliases[operand.name]
            if other.memory is alias.memory and self.path(other) != self.path(alias):
                size = self.holder(alias.memory.whole).elements
                if size > _MOST_PLACES or self.overlap(alias, other, torch.arange(size)):
                    raise ImportFailed(
                        f"{self.label}: {node.name} writes into what it reads: clone() it first"
                    )

    def _seen_later(self, node: Any, alias: Alias) -> bool:
        """Whether the memory that this call writes is read after it, other than as this alias.

        What the module keeps is read by its next run.
        """
        if alias.memory.owner:
            return True
        later = list(self.nodes.values())[self.place[node.name] + 1 :]
        aliases = (self.aliases.get(read.name) for n in later for read in n.all_input_nodes)
        return any(
            other is not None and other is not alias and other.memory is alias.memory
            for other in aliases
        )

    def _write_through(self, alias: Alias, call: Call, step: CallStep) -> None:
        """Record a write through views as a call that gives all of the memory anew."""
        whole = alias.memory.whole
        others = refs((step.args[1:], step.kwargs))
        views = self.views(alias)
        reads = dict.fromkeys((whole, *others, *refs([v.args[1:] for v in views])))
        write = WriteThrough(views, step.target)
        tensor = replace(self.holder(whole), name=call.name, kind="activation")
        kind = call.kind if torch_ops.is_opaque(call.kind) else "slice_scatter"
        relation = self._written_box(alias, call, tensor, [whole, *dict.fromkeys(others)], reads)
        self.add(
            Call(
                call.name,
                kind,
                tuple(reads),
                tensor,
                macs=call.macs,
                relation=relation,
                block=call.block,
            ),
            CallStep(write, (Ref(whole), *step.args[1:]), step.kwargs),
        )
        alias.memory.written(call.name)

    def _written_box(
        self, alias: Alias, call: Call, whole: Tensor, operands: list[str], reads: Iterable[str]
    ) -> Relation:
        """How a write through views that cut axes reads what it writes into, and its operands."""
        if [*reads] != operands or not (call.kind in SET or call.relation == ("same",)):
            return ()
        seen = [self.calls[view] for view in self.view_names(alias)]
        views = [(view.relation, view.tensor.shape) for view in seen if view.tensor is not None]
        if not all(relation for relation, _ in views):
            return ()
        types = {self.holder(name).dtype for name in operands[1:]}
        return torch_relations.write(
            call.kind == "copy" and types == {whole.dtype}, views, whole.shape
        )

    def _whole(self, node: Any, call: Call, step: CallStep) -> tuple[Call, CallStep]:
        """A write of all of a value without the write: its out-of-place form, or one on a copy."""
        operand, *others = node.all_input_nodes
        types = {one.meta["val"].dtype for one in node.all_input_nodes}
        if call.kind == "copy" and others and like(others[0].meta["val"], operand.meta["val"]):
            reads = tuple(refs(step.args[1]))
            step = CallStep(torch.ops.aten.clone.default, (step.args[1],), {})
            return replace(call, kind="clone", reads=reads, view=True, relation=("same",)), step
        packet = getattr(torch.ops.aten, call.kind, None)
        overload = getattr(packet, node.target._overloadname, None)
        if overload is None or torch_ops.promotes(call.kind, len(types)):
            overload = WriteThrough((), node.target)
        return call, CallStep(overload, step.args, step.kwargs)
