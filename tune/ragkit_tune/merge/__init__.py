"""Merge checkpoints of equal shapes and equal tokenizers."""
