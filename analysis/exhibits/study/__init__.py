"""The controlled study shown: recipes sorted by their response, shares, outcomes."""
