"""Lab against geometry against scale: mixed models, exchanges, shares, matches, power, recipes."""
