"""The job ledger: jobs, leases, the queue, uploads."""
