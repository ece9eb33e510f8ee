"""Counts in tables of two by two: exact tests."""
