"""A partition becomes a program: line buffers, residents, strips."""
