"""Backups, clearing and inspection of a database."""
