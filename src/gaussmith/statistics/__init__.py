"""Statistics: how values, standard errors and intervals are read from noisy features. One kind of answer, one file.

    sum     a feature itself: sums, counts of cells, linear answers, workloads
    count   the number of records, noisy or public
    mean    an offset and a ratio of two features; its interval is Fieller's

Each reads many answers of its kind at once, for one release or for many groups. Nothing here sees data.
"""

from gaussmith.statistics.count import Count
from gaussmith.statistics.mean import Means
from gaussmith.statistics.statistic import Noisy, Statistic
from gaussmith.statistics.sum import Sums

__all__ = ["Count", "Means", "Noisy", "Statistic", "Sums"]
