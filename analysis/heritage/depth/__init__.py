"""The laws of depth: the bound 10^(1/L), three laws compared, writes of equal size."""
