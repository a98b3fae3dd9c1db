"""A small server that speaks the OpenAI wire format without a model behind it."""
