"""Numbers rounded to a stated side: curves, quadratic forms, shapes and their certificates."""
