"""Collections, documents, chunks and versions in PostgreSQL, and who may read them."""
