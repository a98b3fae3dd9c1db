"""Processes that parse and split, under limits."""
