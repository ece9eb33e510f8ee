"""Frames, columns, formulas, refusals and words: knows nothing of this project's data.

Every other room stands on this one. It imports nothing else of the package.
"""
