"""Checks that a paper's printed numbers allow, without its raw data.

Every module is one idea and knows of no particular paper: it takes what was printed, as text,
because the number of decimals is part of the evidence.
"""
