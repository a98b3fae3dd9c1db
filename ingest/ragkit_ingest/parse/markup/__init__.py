"""Languages that mark up a text: Markdown, reStructuredText, AsciiDoc, Org, XML."""
