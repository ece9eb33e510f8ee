"""How figures look: theme, letters, marks, names beside lines."""
