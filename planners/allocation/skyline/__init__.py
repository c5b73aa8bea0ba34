"""Exact packing by a search over skylines."""
