"""The sections on heritage: the hierarchy, and the shares of variance."""
