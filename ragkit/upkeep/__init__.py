"""Upkeep of a collection: cut-offs, recall, another embedding model, health checks."""
