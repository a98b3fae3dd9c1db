"""A model server run for a RAG load: its command, its environment, and its life."""
