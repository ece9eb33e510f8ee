"""Finished pages in a real browser: looked at, examined by axe, used with the keyboard alone."""
