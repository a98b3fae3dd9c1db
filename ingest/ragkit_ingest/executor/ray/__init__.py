"""Ingestion beyond one machine: the stages of a run as operators of Ray Data."""
