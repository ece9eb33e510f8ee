"""Variances from a stated prior: quadrature over them, closed forms for all the rest."""
