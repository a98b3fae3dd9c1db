"""Find the chunks that answer a query: by meaning, by words, or by both fused."""
