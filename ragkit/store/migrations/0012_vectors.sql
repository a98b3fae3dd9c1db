-- Vectors: what each embedding space's table looks like and what of it is not indexed yet.
SELECT 1;
