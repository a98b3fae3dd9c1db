"""Rerankers: score passages against a query more exactly than a search does."""
