"""What the paper's own record shows: counts, captions, printed numbers, redrawn figures."""
