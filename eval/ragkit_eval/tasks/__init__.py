"""Knowledge tasks: short declarative files, readers of their data, and scorers by name."""
