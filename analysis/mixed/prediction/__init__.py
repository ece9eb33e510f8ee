"""A fitted model asked of new rows: means, their errors, and what a row lacks."""
