"""Read the logs of other evaluation programs as runs, so that they can be compared by item."""
