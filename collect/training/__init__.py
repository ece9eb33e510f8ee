"""A recipe and a text in, an ordinary checkpoint out."""
