"""What a run would write and need, said before it starts; no weight is read."""
