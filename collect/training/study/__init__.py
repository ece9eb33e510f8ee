"""A controlled study: many small networks trained from one design and measured on the way."""
