"""Vocabularies: train, extend, prune and measure tokenizers; `ragkit_tune.shrink` cuts networks."""
