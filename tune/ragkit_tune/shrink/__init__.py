"""Make a model smaller: its vocabulary, its layers, its dimension."""
