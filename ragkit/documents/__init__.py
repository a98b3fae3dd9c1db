"""What a document is known by: format, content hash, names, moments."""
