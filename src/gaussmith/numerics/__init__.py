"""Numbers that err on a stated side: curves, quadratic forms, shapes and their certificates."""
