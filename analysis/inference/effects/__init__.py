"""How large, how likely, how alike: effect sizes, Bayes factors, equivalence, many tests."""
