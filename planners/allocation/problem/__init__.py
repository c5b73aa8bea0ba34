"""A packing question: lifetimes, and its smallest equivalent form."""
