"""The command line of collection, verb by verb."""
