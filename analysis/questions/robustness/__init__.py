"""How far the answer holds: from a stated prior, over all definitions, against the unmeasured."""
