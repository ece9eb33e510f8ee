"""The laws of depth: the correlation, the bound 10^(1/L), five laws compared, phases."""
