"""Files complete or absent: prepared beside their places, put there together, by one at a time."""
