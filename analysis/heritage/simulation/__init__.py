"""Papers simulated with a known truth, and how often the rule gives each verdict on them."""
