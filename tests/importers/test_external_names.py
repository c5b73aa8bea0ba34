"""Names of files for weights that no file can have."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from planners.core.errors import BadInput
from planners.importers.onnx.file import external_bytes, external_file


@pytest.mark.parametrize("location", ["a" * 300, "a\0b"])
def test_a_name_that_no_file_has_is_no_file(location: str, tmp_path: Path) -> None:
    """It was a raw `OSError`, and a raw `ValueError`."""
    tensor = onnx.TensorProto(name="weight", data_location=onnx.TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value=location)
    assert external_file(tensor, tmp_path / "model.onnx") is None
    with pytest.raises(BadInput, match="is not in the model's folder"):
        external_bytes(tensor, tmp_path / "model.onnx", 4)
