"""Several model servers behind one address: an nginx configuration that is written and checked."""
