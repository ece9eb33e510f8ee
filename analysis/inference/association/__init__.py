"""How one variable goes with others: correlation, least squares, logistic with a penalty."""
