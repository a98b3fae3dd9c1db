"""The commands of `ragkit eval`."""
