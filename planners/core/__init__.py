"""What all of Spillway speaks of: graphs, machines, programs, plans, options, progress, errors."""
