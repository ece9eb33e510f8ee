"""The section on the specification curve."""
