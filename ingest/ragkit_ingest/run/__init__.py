"""One ingestion: what has changed, its steps, and the report."""
