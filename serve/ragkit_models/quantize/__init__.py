"""Make quantized checkpoints with llm-compressor, each with a model card."""
