"""The paper's eight figures, and beside each what we would draw."""
