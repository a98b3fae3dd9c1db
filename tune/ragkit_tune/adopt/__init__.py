"""Adoption: use a model that is proven better, and go back."""
