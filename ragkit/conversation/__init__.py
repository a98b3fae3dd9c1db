"""Conversations over a knowledge base: memory, follow-up questions, summaries, export."""
