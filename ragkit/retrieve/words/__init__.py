"""Search by words: a query's terms and demands, exact BM25, and its best without scoring all."""
