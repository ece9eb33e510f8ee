"""A fitted model as tidy frames: tables, contrasts, comparisons, diagnostics, guards."""
