"""Knowledge tasks: declarations in TOML files, readers of their data, and scorers by name."""
