"""The sections on depth: the law, its bound, the profiles, every block."""
