"""The word index in PostgreSQL: postings in segments."""
