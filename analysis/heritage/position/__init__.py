"""Where in a network the gain is read: the last block, the one before, the inner blocks."""
