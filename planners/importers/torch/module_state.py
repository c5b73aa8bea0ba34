"""What a module keeps from run to run: the buffers that it writes, and their new values."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import torch

from planners.core.errors import ImportFailed
from planners.core.graph import Tensor
from planners.importers.passes import Call, needed
from planners.importers.torch.recorded import AliasedMemory
from planners.importers.torch.steps import CallStep, Ref
from planners.importers.torch.writes import WritingCalls


@dataclass
class KeptState(WritingCalls):
    """Writes into the module's own buffers; `numbered` are values that were read as numbers."""

    numbered: set[str] = field(default_factory=set)

    def owned(self, owner: str) -> AliasedMemory:
        """The memory of a buffer of the module, by its path."""
        memories = (self.aliases[node].memory for node in self.parameters)
        return next(memory for memory in memories if memory.owner == owner)

    def owners(self) -> dict[str, str]:
        """The path of each of the module's tensors, by its name in the trace."""
        items = self.parameters.items()
        return {tensor.name: self.aliases[node].memory.owner for node, (tensor, _) in items}

    def new_values(self) -> dict[str, str]:
        """The call that gives the new value of each buffer that was written, by the buffer's name.

        Raises `ImportFailed` where a written buffer was read as a number, or shares its memory.
        """
        memories = {node: self.aliases[node].memory for node in self.parameters}
        written = [node for node, memory in memories.items() if memory.owner and memory.version]
        kept = {self.parameters[node][0].name for node in written}
        moving = kept | {tensor.name for tensor in self.inputs}
        for node in written:
            self._refuse_uses(node)
        return {
            self.parameters[node][0].name: self._own(
                memories[node].whole, self.parameters[node][0], moving
            )
            for node in written
        }

    def _refuse_uses(self, node: str) -> None:
        tensor, value = self.parameters[node]
        owner = self.aliases[node].memory.owner
        if tensor.name in self.numbered:
            raise ImportFailed(
                f"{self.label}: {owner!r} is read as a number and written: keep it a tensor"
            )
        for other, (_, other_value) in self.parameters.items():
            if other != node and _share(value, other_value):
                raise ImportFailed(
                    f"{self.label}: {owner!r} is written and shares its memory with "
                    f"{self.aliases[other].memory.owner!r}: clone() one of them"
                )

    def _own(self, name: str, old: Tensor, moving: set[str]) -> str:
        """An operator's own value for what is kept: itself, or a copy of what is none.

        Views, inputs, other state and constants are copied, as the module does.
        """
        call = self.calls.get(name)
        while call is not None and call.kind == "clone" and call.relation == ("same",):
            name = call.reads[0]
            call = self.calls.get(name)
        run = needed(self.calls, [name], ())
        constant = moving.isdisjoint({name, *(r for one in run for r in self.calls[one].reads)})
        if call is not None and not call.view and not constant:
            return name
        new = self.unused(old.name.replace(".", "_"), "new")
        tensor = replace(old, name=new, kind="activation")
        if constant:  # An operator reads something: what was there before.
            step = CallStep(torch.ops.aten.copy.default, (Ref(old.name), Ref(name)), {})
            self.add(Call(new, "copy", (old.name, name), tensor), step)
        else:
            step = CallStep(torch.ops.aten.clone.default, (Ref(name),), {})
            self.add(Call(new, "copy", (name,), tensor, relation=("same",)), step)
        return new


def _share(one: Any, other: Any) -> bool:
    """Whether two tensors with data have bytes in common."""
    if one.is_meta or other.is_meta:
        return False
    return bool(one.untyped_storage()._cdata == other.untyped_storage()._cdata)
