"""What `benchmarks/explorer.py` measures with: a server, a browser, and visitors without one."""
