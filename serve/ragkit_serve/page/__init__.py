"""The chat page: ragkit for people, in a browser. `mount` puts it on an app; the rest is inside."""
