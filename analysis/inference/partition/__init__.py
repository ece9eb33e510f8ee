"""Which block of predictors explains how much, and what the design cannot tell apart."""
