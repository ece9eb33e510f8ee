"""What comes out, kept: units and their marks, rows of the contract, what an output holds."""
