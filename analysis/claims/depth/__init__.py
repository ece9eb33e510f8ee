"""Claims about depth: its law, its profiles, the layer of the transition."""
