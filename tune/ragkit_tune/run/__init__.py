"""Runs: their folders, their worker process, their logs, and how they are resumed."""
