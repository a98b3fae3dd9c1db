"""Conversations, feedback, keys and log-ins in PostgreSQL."""
