"""Claims about who dampens and who expands, and what the sign goes with."""
