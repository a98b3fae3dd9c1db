"""Scripts that train. They run under any Python and import nothing of ragkit."""
