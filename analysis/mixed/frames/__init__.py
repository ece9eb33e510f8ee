"""A fitted model as tidy frames: tables, contrasts, comparisons, simulation, guards."""
