"""Work, latency and energy of a layout."""
