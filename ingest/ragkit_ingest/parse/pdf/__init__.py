"""PDF: what stands on its pages, in reading order."""
