"""What takes the same model again: profiles, bootstrap, left-out units."""
