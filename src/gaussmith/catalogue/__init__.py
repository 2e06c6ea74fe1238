"""The catalogue: mechanisms exactly as published, with their claims, their true guarantees and their errors.

One file per mechanism, each with one function of keyword arguments. It returns an entry with these members:

    entry.claimed            the guarantee its authors state        entry.sound           "yes", "no" or "corrected"
    entry.true_delta(ε)      the smallest δ that truly holds        entry.holds           whether the claim holds here
    entry.total_variance     the total squared error of the noise   entry.sample(size)    samples of the noise
    entry.theorem            the statement, in words                entry.reference       who, where

Estimators that spend in steps (`coinpress`, `iome`, `plan_mean`) have `steps`, each with `claimed_rho` and `true_rho`.

"corrected": true as computed here, after an error in the source was corrected; see `docs/errata.md`.

>>> import gaussmith as gm
>>> entry = gm.catalogue.rank_one(dimension=100, epsilon=1, delta=1e-5, sensitivity=1)
>>> entry.sound, round(entry.true_delta(1), 2)
('no', 0.97)
"""

from __future__ import annotations

from gaussmith.catalogue.analytic import analytic
from gaussmith.catalogue.bounded_contribution import bounded_contribution
from gaussmith.catalogue.classic import classic
from gaussmith.catalogue.clipped import clipped
from gaussmith.catalogue.coinpress import coinpress
from gaussmith.catalogue.comparison import Comparison, compare
from gaussmith.catalogue.correlated import correlated
from gaussmith.catalogue.elliptical import elliptical
from gaussmith.catalogue.entry import Entry, GaussianEntry
from gaussmith.catalogue.gaussian_data import GaussianDataEntry, gaussian_data
from gaussmith.catalogue.iome import iome
from gaussmith.catalogue.plan_mean import plan_mean
from gaussmith.catalogue.rank_one import RankOne, rank_one
from gaussmith.catalogue.slides import slides
from gaussmith.catalogue.staged import StagedEntry, Step
from gaussmith.catalogue.sweeps import Sweep, sweep

__all__ = [
    "Comparison",
    "Entry",
    "GaussianDataEntry",
    "GaussianEntry",
    "RankOne",
    "StagedEntry",
    "Step",
    "Sweep",
    "analytic",
    "bounded_contribution",
    "classic",
    "clipped",
    "coinpress",
    "compare",
    "correlated",
    "elliptical",
    "gaussian_data",
    "iome",
    "plan_mean",
    "rank_one",
    "slides",
    "sweep",
]
