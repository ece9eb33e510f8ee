"""Spectral norms of W_V and W_O, the sheaf-Laplacian trace, and what they go with."""
