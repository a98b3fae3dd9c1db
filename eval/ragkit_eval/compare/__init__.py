"""Runs compared: pairing, differences, gates."""
