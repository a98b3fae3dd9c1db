"""Finding the chunks that answer a query: by meaning, by words, and both fused.

Knows nothing of how chunks, vectors and postings are stored, nor of what is done with the hits.
"""
