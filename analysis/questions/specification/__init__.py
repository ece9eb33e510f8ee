"""One claim under every defensible choice at once: the specification curve."""
