"""Suites as recipes, with labs above them: what each adds, what each foretells, who drives it."""
