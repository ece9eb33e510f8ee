"""What the paper's own record shows: counts, captions, published numbers, three figures redrawn."""
