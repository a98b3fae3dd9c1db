"""How large a model is, by its configuration: no weights are downloaded."""
