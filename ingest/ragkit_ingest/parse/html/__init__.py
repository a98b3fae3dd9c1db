"""HTML: a page's main content."""
