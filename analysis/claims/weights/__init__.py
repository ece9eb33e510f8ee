"""Claims about weights and attention: spectral norms, the trace, what explains the sign."""
