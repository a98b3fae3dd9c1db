"""Proof: compare a model with what is used now, on questions that it was never trained on."""
