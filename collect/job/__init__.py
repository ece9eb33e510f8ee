"""From names to files: resolve, plan, examine, measure and write; a fleet of workers."""
