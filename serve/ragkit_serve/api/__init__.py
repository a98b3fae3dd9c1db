"""The HTTP API: OpenAI's wire format with checked citations, and ragkit's own resources."""
