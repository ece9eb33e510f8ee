"""Measurements handed on: the codebook, one database, and what a published data set needs."""
