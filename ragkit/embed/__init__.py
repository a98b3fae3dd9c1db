"""Turning texts into unit vectors with open models, on this machine."""
