"""Finders of private data, one kind per file: each yields the spans of its kind.

They read a text in which full-width letters and digits have become plain ones.
"""
