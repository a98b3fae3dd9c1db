"""Make an answer of passages: choose or write it, cite it, check it, or refuse."""
