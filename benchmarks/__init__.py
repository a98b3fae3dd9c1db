"""`make bench`: measure ragkit on real data and against named peers; writes docs/benchmarks.md."""
