"""A pass through a model, whole or block by block, watched as it runs."""
