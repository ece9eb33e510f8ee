"""Tidy frames in, tidy frames out: statistics and verdicts on claims about transformers."""
