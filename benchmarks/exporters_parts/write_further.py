"""ONNX files of further packages, which the zoo does not have."""

from __future__ import annotations

from packages import FURTHER
from write_strangers import write

if __name__ == "__main__":
    write(FURTHER)
