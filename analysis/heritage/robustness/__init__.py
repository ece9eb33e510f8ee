"""What other priors, other definitions and what was not measured do to the answer."""
