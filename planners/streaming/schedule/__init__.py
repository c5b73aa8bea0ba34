"""When each read, copy and kernel ends, in rings of given sizes."""
