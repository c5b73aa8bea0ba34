"""What a planning process answers, one file for each kind of request."""
