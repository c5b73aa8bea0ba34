"""TensorFlow Lite files: read as untrusted data, as graphs, and for what their memory plans say."""
