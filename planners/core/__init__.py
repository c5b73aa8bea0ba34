"""Types that all rooms share: graphs, machines, programs, plans, options, progress, errors."""
