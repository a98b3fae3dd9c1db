"""Agent mode: a language model that searches as often as it needs, within bounds, then answers."""
