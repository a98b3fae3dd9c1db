"""Connections, transactions, identity and the schema's version."""
