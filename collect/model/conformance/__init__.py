"""Whether a decoder does what its adapter promises, before any number of it is kept."""
