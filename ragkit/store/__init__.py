"""PostgreSQL, the only store: embedded or by URL, its schema, and what is kept in it.

Knows nothing of parsing, embedding, ranking or answering.
"""
