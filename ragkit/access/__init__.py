"""Access keys and browser log-ins."""
