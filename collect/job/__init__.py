"""What there is to do and how it is done: settings, plan, units, the loop, a fleet of workers."""
