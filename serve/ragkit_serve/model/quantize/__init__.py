"""Quantized checkpoints made with llm-compressor, each with a card that says how."""
