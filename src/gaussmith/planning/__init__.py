"""Plans: the noise to be added, the size of the errors, and how close to optimal they are.

    Plan     queries and questions; one class for every kind of request
    Query     one noise: a block, its groups, and its share of the guarantee
    Block    what one person adds, the answers wanted, and the noise that fits

Nothing here sees data.
"""
