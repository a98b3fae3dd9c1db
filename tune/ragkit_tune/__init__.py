"""Train models on your own documents, and prove whether they are better."""
