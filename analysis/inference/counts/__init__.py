"""Counts in tables of two by two: exact, conditional and unconditional."""
