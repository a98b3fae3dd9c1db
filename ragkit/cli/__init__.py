"""The `ragkit` command: one file for each command, and what commands share."""
