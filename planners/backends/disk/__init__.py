"""A streaming plan run for real: parameters on disk, rings of the planned size, layers in turn."""
