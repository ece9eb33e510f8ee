"""Many analyses of one question: the specification curve."""
