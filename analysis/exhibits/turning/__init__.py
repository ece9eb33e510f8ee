"""The section on L*, the layer of the transition."""
