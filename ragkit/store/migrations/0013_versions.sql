-- Old versions of documents.
SELECT 1;
