"""Quantities of the stream, each in one file: declaration, columns, function, source.

A file here is all that a built-in quantity of this kind needs: its table, the hook, the rows, what
states of another engine give of it, what a plan counts and the codebook are made from it. To begin
one, copy the example in CONTRIBUTING.md.
"""
