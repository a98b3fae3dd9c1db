"""Rows to train on: made from documents, split by cluster, checked and counted."""
