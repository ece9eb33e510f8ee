"""Quantities that are built in, each in one file: declaration, columns, function, source.

The tables, what a plan counts, what states of another engine give, the codebook and the audit of
symmetries are made from the declarations. A quantity of the stream has its hook and its rows from
there as well: to begin one, copy the example in CONTRIBUTING.md. Those made of the model's
weights, of attention maps and of products that several tables share have their functions in
`collect.instruments`.
"""
