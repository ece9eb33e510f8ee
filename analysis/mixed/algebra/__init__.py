"""From sums of products to estimates: design, likelihood, its optimum, no row in sight."""
