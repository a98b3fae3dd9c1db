"""The processes of `ragkit serve`."""
