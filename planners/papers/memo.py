"""Results of a comparison, each made once: kept in a file, so that a run can go on from them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from planners.core.errors import BadInput


class Memo:
    """Results by key, plain data, in memory and, where a path is given, in a file of JSON lines.

    `on_result` is called with each new one. Raises `BadInput` for a file that is not of such
    results.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        on_result: Callable[[str], object] | None = None,
    ) -> None:
        self._path = None if path is None else Path(path)
        self._say = on_result or (lambda text: None)
        self._known: dict[str, Any] = {}
        if self._path is not None and self._path.exists():
            self._read(self._path)

    def result(self, key: Sequence[Any], make: Callable[[], Any]) -> Any:
        """The result under a key from before, or made now."""
        if self.get(key) is None:
            self.keep(key, make())
        return self.get(key)

    def each(self, keys: Sequence[Sequence[Any]], make: Callable[..., Any]) -> list[Any]:
        """The results under keys of a word and arguments, made of the arguments."""
        return [self.result(key, partial(make, *key[1:])) for key in keys]

    def get(self, key: Sequence[Any]) -> Any:
        """The result under a key; None where there is none."""
        return self._known.get(json.dumps(key))

    def keep(self, key: Sequence[Any], value: Any, message: str = "") -> None:
        """Keep a result, and report of what it is."""
        self._known[json.dumps(key)] = json.loads(json.dumps(value))
        if self._path is not None:
            try:
                with self._path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps([key, value]) + "\n")
            except OSError as error:
                raise BadInput(f"cannot keep results in {self._path}: {error.strerror}") from error
        self._say(message or " ".join(str(part) for part in key[:2]))

    def require(self, read: Callable[[Any, Any], object]) -> None:
        """Read each key and result so. Raises `BadInput` where that fails: they are of others."""
        try:
            for key, value in self._known.items():
                read(json.loads(key), value)
        except (ValueError, TypeError) as error:
            raise self._wrong(error) from error

    def _wrong(self, error: Exception) -> BadInput:
        return BadInput(f"{self._path} does not hold results of a comparison: {error}")

    def _read(self, path: Path) -> None:
        try:
            for line in path.read_text(encoding="utf-8").splitlines():
                key, value = json.loads(line)
                key = json.loads(key) if isinstance(key, str) else key  # text in older files
                self._known[json.dumps(key)] = value
        except (OSError, ValueError, TypeError) as error:
            raise self._wrong(error) from error
