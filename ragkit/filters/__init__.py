"""Filters: conditions on documents, as a tree, as text, and read out of a question."""
