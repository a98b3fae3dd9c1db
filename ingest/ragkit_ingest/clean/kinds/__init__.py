"""Finders of private data, one kind a file: each yields the stretches that it takes for one.

They read a text in which full-width letters and digits have become plain ones, and know nothing of
what is done with what they find.
"""
