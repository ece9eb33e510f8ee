"""Quantities of one's own: what defines one, how it is recorded, and examples that are shipped."""
