"""The command line: what a person types. It knows every room, and no room knows it."""
