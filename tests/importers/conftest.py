"""Whatever is imported here, refused or read, leaves torch as it was."""

from __future__ import annotations

import sys
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def _torch_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each import of a module is looked at from outside, where torch is there at all."""
    if (trace := sys.modules.get("planners.importers.torch.trace")) is None:
        return
    from tests.importers.torch_state import changed, torch_state

    import_module = trace.trace_module

    def looked_at(*args: Any, **kwargs: Any) -> Any:
        before = torch_state()
        try:
            return import_module(*args, **kwargs)
        finally:
            assert changed(before) == []

    monkeypatch.setattr(trace, "trace_module", looked_at)
