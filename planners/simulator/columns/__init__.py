"""The replay of a program in columns: a million rows at once, or no answer where it is unsure."""
