"""Wishes: what a user requires of a plan, in a language, and the smallest sets that conflict."""
