"""Plan what fits on a machine, from a model's configuration, without downloading weights."""
