"""Search by words: what a query asks for and demands, exact BM25, and the best without scoring all.

Knows nothing of vectors, or of how postings are kept.
"""
