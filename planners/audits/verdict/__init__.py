"""Plans of other tools, judged."""
