"""A model as it is found: its checkpoint, a pass through it, and whether it keeps its promises.

`checkpoint` reads files and makes the model, `forward` runs it, `conformance` examines it before
any number is kept.
"""
