"""Public models that people run: what was predicted of them, and what they show."""
