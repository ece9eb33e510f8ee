"""The section on what printed numbers alone allow."""
