"""The Model Context Protocol over HTTP and standard input."""
