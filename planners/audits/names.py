"""Names that are each given once."""

from __future__ import annotations


class Names:
    """Names in use: of those that come again each gets its number."""

    def __init__(self) -> None:
        self.count: dict[str, int] = {}

    def new(self, name: str) -> str:
        count = self.count[name] = self.count.get(name, 0) + 1
        return name if count == 1 else self.new(f"{name} #{count}")
