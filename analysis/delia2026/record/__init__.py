"""What the paper's own record shows: counts, captions, published numbers, figures redrawn."""
