-- Embedding spaces: how each is stored and indexed, and which one each collection is searched in.
SELECT 1;
