"""The commands `ragkit ingest` and `ragkit worker`."""
