"""Vocabularies: train, extend, prune and measure tokenizers; the network is `shrink`'s."""
