"""How fast a model server is on a RAG-shaped load, in one file that two runs can be compared by."""
