"""How the gain goes with the number of blocks, and with the place among them."""
