"""Names of a package that come when they are used: to import the package brings nothing else.

A package says in one plain table which module each name is from, and imports the same names for
type checkers only; what the interpreter asks of a module comes of the table (PEP 562).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def on_use(
    package: str, places: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """A package's `__getattr__` and `__dir__`, from the module of each name.

    A name that is the module's own last one stands for the module. What was used once is kept in
    the package, as an import would have left it.
    """
    namespace = vars(sys.modules[package])

    def __getattr__(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(places[name])
        whole = places[name] == f"{package}.{name}"
        namespace[name] = module if whole else getattr(module, name)
        return namespace[name]

    def __dir__() -> list[str]:
        return sorted({*namespace, *places})

    return __getattr__, __dir__
