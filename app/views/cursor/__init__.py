"""The cursor in the browser, and what it needs to know of the steps around it."""
