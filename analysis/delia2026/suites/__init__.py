"""Suites as recipes, with labs above them: what each adds, what each predicts."""
