"""Statistics: which features answers need, what these are worth, and how answers are read from them with their noise.

    statistic   what all share: answers that are linear in a few features
    sum         totals of a column
    count       the number of records, noisy or public; or of rows
    mean        a ratio of two features, measured from the middle of the bounds; its interval is Fieller's
    histogram   how many people have each declared value
    quantile    quantiles of a column, from the numbers of records below the edges of its cells
    linear      rows of a matrix over the coordinates of a record
    workload    many linear answers over cells
    answers     statistics in the order in which they are shown, with the features they need
    registry    one line for each kind

Each statistic reads many answers of its kind at once, for one release or for many groups. No data is read here.
"""
