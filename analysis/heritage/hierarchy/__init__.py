"""Lab against geometry against scale: tests, mixed models, predictions, shares."""
