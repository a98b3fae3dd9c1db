"""Source code: the stored text is the source itself, and its definitions are the headings."""
