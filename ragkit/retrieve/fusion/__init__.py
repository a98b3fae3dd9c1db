"""Make one ranking of a dense and a lexical one: scores in, scores out."""
