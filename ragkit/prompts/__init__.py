"""Prompts as templates in files, and short questions to a language model."""
