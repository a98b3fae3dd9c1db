"""Decide whether the passages can be answered from."""
