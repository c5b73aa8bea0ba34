"""What leaves the page: files, scripts, a page of its own, notebooks."""
