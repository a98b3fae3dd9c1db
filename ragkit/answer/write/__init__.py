"""Write an answer: quote sentences, or have a language model write it."""
