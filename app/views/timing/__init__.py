"""When everything happens: the timeline and the one cursor."""
