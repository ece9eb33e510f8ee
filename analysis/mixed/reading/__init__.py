"""Rows read once: source, formula, plan of the query, sums of products per cell."""
