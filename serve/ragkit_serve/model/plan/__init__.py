"""What fits on which hardware, from a model's configuration alone: no weights are downloaded."""
