"""Run a model server for questions over documents: its command, its environment, its process."""
