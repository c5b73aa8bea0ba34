"""Plans of other tools: read, judged, and bettered."""
