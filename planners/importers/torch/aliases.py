"""Which values of a program share memory, and which call has the content of each by now."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class AliasedMemory:
    """What some values look at: `whole` is the call that has all of it after `version` writes.

    `owner` is the parameter, buffer or attribute of the module that it is, if any; what is `fixed`
    is a parameter, which inference does not write.
    """

    whole: str
    version: int = 0
    owner: str = ""
    fixed: bool = False

    def written(self, whole: str) -> None:
        """Take another call's value for all of it."""
        self.whole, self.version = whole, self.version + 1


@dataclass(slots=True, eq=False)
class Alias:
    """A value: all of a memory, or what the call `view` sees of its parent's.

    `name` is the call that has its content as of `version`.
    """

    memory: AliasedMemory
    name: str
    version: int
    parent: Alias | None = None
    view: str = ""

    def through(self, view: str) -> Alias:
        """What a view of this one, just made, sees."""
        return Alias(self.memory, view, self.memory.version, self, view)

    def written(self, name: str) -> None:
        """Take another call's value; where this is a part, nobody looks at the rest again."""
        if self.parent is None:
            self.memory.written(name)
        else:
            self.memory, self.parent = AliasedMemory(name), None
        self.name, self.version = name, self.memory.version


def new_alias(name: str, owner: str = "", fixed: bool = False) -> Alias:
    """A memory of its own."""
    return Alias(AliasedMemory(name, owner=owner, fixed=fixed), name, 0)
