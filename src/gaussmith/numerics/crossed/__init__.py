"""One noise for tables of the same keys: people by a, by b, by a and b, and all of them.

Every person is one row, and so is in one cell of each table at most: that of its keys, where all of them are declared.

tables.py   what one person adds, by which of its keys are declared: its type
moments.py  what a law on types adds to each residual, and the least noise there is
lift.py     the lift: sums over some keys of each table, added to the cells of each
largest.py  the largest norm of a lifted person: the number on which privacy rests
"""
