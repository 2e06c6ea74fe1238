"""Statistics: how values, standard errors and intervals are read from noisy features. One file per kind of answer.

    sum     a feature itself: sums, counts of cells, linear answers, workloads
    count   the number of records, noisy or public
    mean    an offset and a ratio of two features; its interval is Fieller's

Each statistic reads many answers of its kind at once, for one release or for many groups. No data is read here.
"""

from gaussmith.statistics.count import Count
from gaussmith.statistics.mean import Means
from gaussmith.statistics.statistic import Noisy, Statistic
from gaussmith.statistics.sum import Sums

__all__ = ["Count", "Means", "Noisy", "Statistic", "Sums"]
