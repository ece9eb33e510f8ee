"""The registered analysis of the controlled study; written before its networks were trained."""
