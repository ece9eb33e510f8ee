"""Models that others measured: what was predicted of them, and the hierarchy with them."""
