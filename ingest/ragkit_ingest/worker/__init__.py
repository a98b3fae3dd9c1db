"""The worker: takes jobs from the queue and ingests them."""
