"""Proportions: the counts of a histogram, whose shares of all of them are shown beside them."""

from __future__ import annotations

from gaussmith.statistics.histogram import Histograms


class Proportions(Histograms):
    """Counted and planned as a histogram. The shares are read from the counts, and have intervals of their own."""

    kind = "proportion"
    field = "proportions"
    shows_shares = True
