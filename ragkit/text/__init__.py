"""Reading text the same way everywhere: cleaning, terms for search and metrics, sentences."""
