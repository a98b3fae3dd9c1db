-- Words: how a collection's chunks are analysed and their postings kept.
SELECT 1;
