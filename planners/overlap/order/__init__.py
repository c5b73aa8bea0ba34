"""Orders of operators for a pool in which outputs overlap dying inputs."""
