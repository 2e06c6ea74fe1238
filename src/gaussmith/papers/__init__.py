"""Mechanisms and domains of research, apart from the core, which never imports them.

- domains: balls, points, sparse sums, votes, Gaussian data; `gm.domains` has these names too
- `vector_means`, `plan_vectors`: means of columns with unknown range
- the catalogue: mechanisms exactly as published, with their claims, their true guarantees and their errors

A mechanism of the catalogue has one file, with one function of keyword arguments. It returns an entry with:

    entry.claimed            the guarantee its authors state        entry.sound           "yes", "no" or "corrected"
    entry.true_delta(ε)      the smallest δ that truly holds        entry.holds           whether the claim holds here
    entry.total_variance     the total squared error of the noise   entry.sample(size)    samples of the noise
    entry.theorem            the statement, in words                entry.reference       who, where

Estimators that spend in steps (`coinpress`, `iome`, `plan_mean`) have `steps`, each with `claimed_rho` and `true_rho`.

What the sources' proofs use is here too, by its own name: `sensitivity`, `rows_needed`, `bernstein`, `tree_total`, …

"corrected": true as computed here, after an error in the source was corrected; see `docs/errata.md`.

>>> import gaussmith as gm
>>> entry = gm.papers.rank_one(dimension=100, epsilon=1, delta=1e-5, sensitivity=1)
>>> entry.sound, round(entry.true_delta(1), 2)
('no', 0.97)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gaussmith.papers.ball import Ball
    from gaussmith.papers.clipping import GaussianDataEntry, clipped, gaussian_data, theorem_five_bound
    from gaussmith.papers.comparison import Comparison, compare
    from gaussmith.papers.contributions import bounded_contribution, joseph_yu_total
    from gaussmith.papers.correlated_noise import correlated, delta_across_keys, split_total, tree_total
    from gaussmith.papers.entry import Entry, GaussianEntry
    from gaussmith.papers.formulas import (
        bernstein,
        chebyshev,
        chebyshev_shares,
        hanson_wright,
        imhof_tail,
        improved_shares,
        laurent_massart,
        quadratic_form_quantile,
        quadratic_form_tail,
        report_shares,
        square_tail,
        truncated_bernstein,
        uncentred_bernstein,
    )
    from gaussmith.papers.gaussian import GaussianData, UnknownGaussianData
    from gaussmith.papers.gaussian_mechanisms import analytic, classic, elliptical
    from gaussmith.papers.lecture import (
        CountingQueries,
        approximate_rho,
        counting_queries,
        counting_sensitivity,
        epsilon_of,
        rho_for,
        rows_needed,
        slides,
    )
    from gaussmith.papers.lemmas import (
        bad_set_probability,
        expected_quadratic_form,
        hockey_stick,
        name_and_shame,
        sensitivity,
        workload_sensitivity,
    )
    from gaussmith.papers.looks import ColumnCells, LengthCells
    from gaussmith.papers.mean_estimators import StagedEntry, Step, coinpress, iome, plan_mean
    from gaussmith.papers.points import Points
    from gaussmith.papers.rank_one_noise import RankOne, claimed_factor, rank_one
    from gaussmith.papers.sparse import SparseSum
    from gaussmith.papers.sweeps import Sweep, sweep
    from gaussmith.papers.vectors import plan_vectors, vector_means
    from gaussmith.papers.votes import Votes

_PUBLIC = {
    "ball": ("Ball",),
    "clipping": ("GaussianDataEntry", "clipped", "gaussian_data", "theorem_five_bound"),
    "comparison": ("Comparison", "compare"),
    "contributions": ("bounded_contribution", "joseph_yu_total"),
    "correlated_noise": ("correlated", "delta_across_keys", "split_total", "tree_total"),
    "entry": ("Entry", "GaussianEntry"),
    "formulas": (
        "bernstein", "chebyshev", "chebyshev_shares", "hanson_wright", "imhof_tail", "improved_shares",
        "laurent_massart", "quadratic_form_quantile", "quadratic_form_tail", "report_shares", "square_tail",
        "truncated_bernstein", "uncentred_bernstein",
    ),
    "gaussian": ("GaussianData", "UnknownGaussianData"),
    "gaussian_mechanisms": ("analytic", "classic", "elliptical"),
    "lecture": (
        "CountingQueries", "approximate_rho", "counting_queries", "counting_sensitivity", "epsilon_of",
        "rho_for", "rows_needed", "slides",
    ),
    "lemmas": (
        "bad_set_probability", "expected_quadratic_form", "hockey_stick", "name_and_shame", "sensitivity",
        "workload_sensitivity",
    ),
    "looks": ("ColumnCells", "LengthCells"),
    "mean_estimators": ("StagedEntry", "Step", "coinpress", "iome", "plan_mean"),
    "points": ("Points",),
    "rank_one_noise": ("RankOne", "claimed_factor", "rank_one"),
    "sparse": ("SparseSum",),
    "sweeps": ("Sweep", "sweep"),
    "vectors": ("plan_vectors", "vector_means"),
    "votes": ("Votes",),
}  # fmt: skip
_HOMES = {name: module for module, names in _PUBLIC.items() for name in names}


def __getattr__(name: str) -> Any:
    """A mechanism or a domain is imported when it is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"gaussmith.papers.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})


__all__ = [
    "Ball", "ColumnCells", "Comparison", "CountingQueries", "Entry", "GaussianData",
    "GaussianDataEntry", "GaussianEntry", "LengthCells", "Points", "RankOne", "SparseSum", "StagedEntry", "Step",
    "Sweep", "UnknownGaussianData", "Votes", "analytic", "approximate_rho", "bad_set_probability", "bernstein",
    "bounded_contribution", "chebyshev", "chebyshev_shares", "claimed_factor", "classic", "clipped", "coinpress",
    "compare", "correlated", "counting_queries", "counting_sensitivity", "delta_across_keys", "elliptical",
    "epsilon_of", "expected_quadratic_form", "gaussian_data", "hanson_wright", "hockey_stick", "imhof_tail",
    "improved_shares", "iome", "joseph_yu_total", "laurent_massart", "name_and_shame", "plan_mean", "plan_vectors",
    "quadratic_form_quantile", "quadratic_form_tail", "rank_one", "report_shares", "rho_for", "rows_needed",
    "sensitivity", "slides", "split_total", "square_tail", "sweep", "theorem_five_bound", "tree_total",
    "truncated_bernstein", "uncentred_bernstein", "vector_means", "workload_sensitivity",
]  # fmt: skip
