"""Scores of predictions that were made elsewhere."""
