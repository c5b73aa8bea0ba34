"""What other frameworks need of RAM."""
