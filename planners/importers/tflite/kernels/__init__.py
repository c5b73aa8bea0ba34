"""TensorFlow Lite Micro's reference kernels in NumPy, equal to the bit, on arrays of a file.

Written from the arithmetic of tflite-micro's `kernels/internal/reference` and of gemmlowp's fixed
point; `tests/importers/test_tflite_runtime.py` compares each with the runtime's own.
"""
