"""Latency: when transfers run, for the least makespan."""
