"""A checkpoint: its files, its configuration, its weights, and the model they make."""
