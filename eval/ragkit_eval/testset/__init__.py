"""Labelled questions made from the user's own documents, each with the place that answers it."""
