"""Check an answer's claims against the stored text."""
