"""A fitted model as plain data, and the tests of its fixed effects."""
