"""Tensors to numbers: what is measured while a model reads, and what its weights are."""
