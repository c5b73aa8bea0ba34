"""What a planning process answers, a kind of request a file."""
