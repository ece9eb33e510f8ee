"""What takes the same model again: profiles, bootstrap, permutation, left-out units."""
