"""ONNX files; the package `onnx` is an extra."""
