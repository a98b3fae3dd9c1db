"""Source code: the stored text is the source itself, with its definitions laid over it.

One module per language (or per family of them) says what a definition looks like in it.
"""
