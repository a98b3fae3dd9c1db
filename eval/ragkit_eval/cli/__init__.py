"""The commands that evaluate, one file each, and what they share."""
