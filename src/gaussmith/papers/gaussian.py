"""Gaussian data: numbers without bounds that are expected to vary around a centre by a known amount.

The expectation determines where records are clipped; privacy depends only on the clipping and holds for any data.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from gaussmith.checks import check_coordinate_names, check_number, check_probability, check_whole, checks_arguments
from gaussmith.domains.domain import BoundsTable, Domain, DomainWords, MeanRange, Problem, WorstCase
from gaussmith.domains.encoding import BallEncoding
from gaussmith.domains.extremes import Sphere
from gaussmith.domains.strategies import (
    BEST,
    Candidate,
    Candidates,
    Search,
    Strategy,
    lifted_round,
    price,
    refuse_shape,
)
from gaussmith.domains.workloads import Workload
from gaussmith.errors import DomainError, PlanError, damaged_plan, nearest
from gaussmith.numerics import quadratic_forms
from gaussmith.numerics.doubles import require_finite
from gaussmith.numerics.exact import Array
from gaussmith.papers import scaling
from gaussmith.papers.ball import round_bound
from gaussmith.papers.scaling import Clip, Price

SCALINGS = ("best", "report", "chebyshev", "round")


@dataclass(frozen=True, eq=False, init=False)
class GaussianData(Domain):
    """Records x with independent, roughly normal coordinates with mean mean_j and standard deviation sd_j; all public.

    A plan scales the coordinates, clips records to an ellipsoid around `mean` and adds noise of the same shape.

    rows:        a public estimate of the number of records (under replace-one their known number); the clipping level
                 balances noise against the loss from clipping that many records.
    clip:        "best", or the fraction of records to clip if they are as expected, say 1e-4.
    scaling:     "best", or for comparison "report" (theorem 4), "chebyshev" (the report's alternative), "round".
    mean_within: how far the true means are expected to lie from `mean` (their typical distance). In that case clipping
                 shifts all records in the same direction, so the clip is wider. By default `mean` is taken as exact
                 for sums, and the true means are taken to be one standard deviation away for means. Errors stated
                 for means hold if they lie no farther away than this.

    Without mean and sd, but with `dimension` or `names`, nothing is known of the coordinates (`UnknownGaussianData`):
    `plan_vectors` plans stages that find out.

    >>> GaussianData(mean=[170, 70], sd=[10, 15])
    GaussianData(2 coordinates around (170, 70), sd (10, 15), for about 10000 records)
    >>> GaussianData(dimension=2, rows=4000)
    GaussianData(2 coordinates of which nothing is known, for about 4000 records)
    """

    kind = "gaussian"
    reads_vectors = True
    shape_follows_mu = True
    found_with_noise = ("half_axes",)

    centre: Array
    sd: Array
    rows: float
    clip: str | float
    scaling: str
    mean_within: Array | None
    names: tuple[str, ...] | None
    half_axes: Array | None
    """The half axes of the ellipsoid to which records are clipped; None before planning."""

    def __new__(cls, mean: Any = None, sd: Any = None, **given: Any) -> GaussianData:

        unknown = mean is None and sd is None and not given.keys().isdisjoint(("dimension", "names"))
        return object.__new__(UnknownGaussianData if unknown else cls)

    @checks_arguments
    def __init__(
        self,
        mean: npt.ArrayLike | None = None,
        sd: npt.ArrayLike | None = None,
        *,
        dimension: int | None = None,
        rows: float = 10_000,
        clip: str | float = "best",
        scaling: str = "best",
        mean_within: npt.ArrayLike | None = None,
        names: Sequence[str] | None = None,
        normal: bool = False,
    ) -> None:
        if mean is None or sd is None or dimension is not None or normal:
            what = "GaussianData with some of mean, sd, dimension and normal"
            rule = "mean and sd go together; dimension and normal are for data of which neither is known"
            remedy = "write GaussianData(mean=[170, 70], sd=[10, 15]), or GaussianData(dimension=2, rows=4000)"
            raise DomainError(what, rule, remedy, code="gaussian-data-half-known")
        spread = _numbers("sd", sd)
        d = spread.size
        centre = _spread_out("mean", mean, d)
        inside = (spread > 1e-150) & (spread < 1e150)
        if not inside.all():
            j = int(np.argmin(inside))
            what, rule = f"sd[{j}]={spread[j]:g}", "a standard deviation must be between 1e-150 and 1e150"
            remedy = "leave out coordinates that never vary; a rough estimate of the others is enough"
            raise DomainError(what, rule, remedy, code="sd-out-of-range", index=j, sd=spread[j])
        if not (np.abs(centre) < 1e150).all():
            rule = "its numbers must be finite and below 1e150"
            raise DomainError("mean", rule, "give one number per coordinate", code="mean-not-finite")
        within = None if mean_within is None else _spread_out("mean_within", mean_within, d)
        if within is not None and not ((within >= 0) & (within < 1e150)).all():
            rule = "its numbers must be 0 or more"
            raise DomainError("mean_within", rule, "leave it out if it is not known", code="mean-within-negative")
        rule = "it is an estimate of the number of records, from 1 to 1e15"
        rows = check_number("rows", rows, low=1, below=1e15, rule=rule, remedy="write rows=10_000", error=DomainError)
        if scaling not in SCALINGS:
            what, rule = f"scaling={scaling!r}", "there is no such scaling"
            raise DomainError(what, rule, nearest(str(scaling), SCALINGS), code="unknown-scaling", scaling=scaling)
        names = check_coordinate_names(names, d)
        fields = {
            "centre": _kept(centre),
            "sd": _kept(spread),
            "mean_within": within if within is None else _kept(within),
            "rows": rows,
            "clip": _read_clip(clip),
            "scaling": scaling,
            "names": None if names is None else tuple(map(str, names)),
            "half_axes": None,
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def clipped_to(self, half_axes: Array) -> GaussianData:
        """The same domain with the ellipsoid chosen by a plan."""
        axes = np.array(half_axes, float)
        if axes.shape != self.sd.shape or not ((axes > 1e-150) & (axes < 1e150)).all():
            raise damaged_plan("half_axes that are not one positive number per coordinate")
        axes.flags.writeable = False
        found = copy(self)
        object.__setattr__(found, "half_axes", axes)
        return found

    def off_by(self, within: Array) -> GaussianData:
        """The same domain with its means this far from the centre."""
        fields = {**self.to_dict(), "mean_within": within.tolist()}
        return GaussianData.from_dict(fields)

    @property
    def dimension(self) -> int:
        return len(self.sd)

    @property
    def radius(self) -> Array:
        """The value of one unit of the core: the half axes once they are chosen, before that a standard deviation."""
        return self.sd if self.half_axes is None else self.half_axes

    @property
    def means(self) -> MeanRange:
        """What `mean_within` says, by default one standard deviation: there is no bound that holds for all data."""
        within, words = (
            self.sd if self.mean_within is None else self.mean_within,
            "within mean_within of those expected",
        )
        return MeanRange(self.centre, within, within * within, holds_always=False, words=words)

    @property
    def words(self) -> DomainWords:
        return DomainWords(
            "Records outside the ellipsoid around the expected mean are clipped to it; a record with a value that is "
            "missing or not finite becomes the expected mean."
        )

    def codes(self, substitutes: Array | None = None, workload: Workload | None = None) -> BallEncoding:
        """The encoding of records as integers: each coordinate over its half axis, then as in a ball of radius 1."""
        if self.half_axes is None:
            what = "Gaussian data without a clip"
            raise PlanError(what, "the clip is chosen by a plan", "call gaussmith.plan first", code="clip-not-planned")
        return BallEncoding(self.centre, self.half_axes)

    def extremes(self) -> Sphere:
        """The differences of the cores are those of a ball, for any data, normal or not."""
        return Sphere(self.dimension)

    # -- what is expected of the data -----------------------------------------------------------------------------

    @cached_property
    def deviation(self) -> Array:
        """The standard deviation of records around the centre, including the uncertainty of the mean."""
        return self.sd if self.mean_within is None else np.hypot(self.sd, self.mean_within)

    @property
    def shares(self) -> Array:
        """λ_j = (deviation_j/half axis_j)²: a normal record is clipped when Σ λ_j Z_j² > 1."""
        return (self.deviation / self.radius) ** 2

    def clipped_fraction(self) -> float:
        """The fraction of records that are clipped if the data are as expected."""
        from gaussmith.numerics import quadratic_forms

        return quadratic_forms.tail(self.shares, 1.0)

    def clipping_loss(self, weights: Array) -> float:
        """The expected weighted squared error of sums from clipping alone, if the data are as expected.

            rows · Σ w_j deviation_j² E[Z_j² (1 − 1/√Q)² ; Q > 1],   Q = Σ λ_j Z_j²

        plus rows² · Σ w_j within_j² g_j² if `mean_within` is stated (`numerics.clipping`).
        """
        from gaussmith.papers.scaling import Price

        values = weights * self.deviation**2
        unit = float(values.max())  # scale to numbers near 1, whatever the units of the columns
        if unit == 0:  # worth less than doubles can tell
            return 0.0
        drift = None if self.mean_within is None else weights * self.mean_within**2 / unit
        return unit * float(Price(values / unit, 1.0, 0.0, self.rows, drift).losses(self.shares)(np.ones(1))[0])

    # -- noise, its limit, pictures and words -----------------------------------------------------------------------

    def candidates(self, problem: Problem[Any], search: Search) -> Candidates:
        """Scale and clip, then noise of the ellipsoid's shape; the standard Gaussian clips the plain norm instead."""

        ways = {BEST: None, "clipped": None, "lifted": None, "isotropic": "round"}
        if search.shape not in ways:
            raise refuse_shape(search.shape, problem, list(ways))
        chosen, shape = clipped(problem, search.mu, ways[search.shape])
        others: tuple[tuple[str, float], ...] = ()
        if search.shape == BEST:
            with suppress(PlanError):  # its errors may overflow doubles where those of the other do not
                plain, standard = clipped(problem, search.mu, "round")
                cost = price(standard, problem.over(plain))
                others = (("isotropic", cost),) if np.isfinite(cost) else ()
        return Candidates([Candidate(shape, domain=chosen)], others)

    def standard(self, problem: Problem[Any], mu: float) -> tuple[Domain, Strategy]:

        return clipped(problem, mu, "round")

    def bounding_law(self, problem: Problem[Any]) -> WorstCase:
        return WorstCase("closed", round_bound(problem))

    def expected_clipping(self, problem: Problem[Any]) -> str:
        """The expected effect of clipping.

        >>> import gaussmith as gm
        >>> block = gm.plan(gm.domains.GaussianData(0, [1, 2]), gm.Guarantee(mu=1), weights="equal").block
        >>> block.domain.expected_clipping(block.problem).split(":")[0]
        'If the data are as expected, 0.21 % of the records are clipped'
        """
        loss = self.clipping_loss(problem.coordinate_weights)
        return (
            f"If the data are as expected, {100 * self.clipped_fraction():.2g} % of the records are clipped: with "
            f"{self.rows:.6g} records this adds about {loss:.3g} to the total squared error. "
            "Privacy does not depend on it."
        )

    @property
    def comparison_note(self) -> str:
        return (
            f"Total errors include clipping, if {self.rows:.6g} records are as expected; sums are taken around the "
            "expected mean."
        )

    def around_zero(self) -> GaussianData:
        return GaussianData.from_dict({**self.to_dict(), "mean": [0.0] * self.dimension, "half_axes": None})

    def bounds_table(self, problem: Problem[Any], places: Sequence[int], substitutes: Array) -> BoundsTable:
        rows = [(self.name(j), [float(each[j]) for each in (self.centre, self.sd, self.radius)]) for j in places]
        expected = self.expected_clipping(problem)
        note = (
            f"{expected} Records outside the ellipsoid with these half axes were clipped to it. A record "
            "with a value that is missing or not finite became the expected mean."
        )
        return BoundsTable(("column", "expected mean", "expected deviation", "clipped to within"), rows, note, expected)

    def to_dict(self) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "kind": self.kind,
            "mean": self.centre.tolist(),
            "sd": self.sd.tolist(),
            "rows": self.rows,
            "clip": self.clip,
            "scaling": self.scaling,
            "mean_within": None if self.mean_within is None else self.mean_within.tolist(),
            "half_axes": None if self.half_axes is None else self.half_axes.tolist(),
        }
        if self.names is not None:
            fields["names"] = list(self.names)
        return fields

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> GaussianData:
        found = cls(
            fields["mean"],
            fields["sd"],
            rows=fields["rows"],
            clip=fields["clip"],
            scaling=fields["scaling"],
            mean_within=fields["mean_within"],
            names=fields.get("names"),
        )
        axes = fields["half_axes"]
        return found if axes is None else found.clipped_to(np.array(axes, float))

    def __repr__(self) -> str:
        def some(values: Array) -> str:
            more = ", …" if len(values) > 4 else ""
            return "(" + ", ".join(f"{v:.6g}" for v in values[:4]) + more + ")"

        plural = "s" if self.dimension > 1 else ""
        return (
            f"GaussianData({self.dimension} coordinate{plural} around {some(self.centre)}, sd {some(self.sd)}, "
            f"for about {self.rows:.6g} records)"
        )


def _kept(array: Array) -> Array:
    """The same array, which nobody changes any more."""
    array.flags.writeable = False
    return array


def _read_clip(clip: Any) -> str | float:
    if not isinstance(clip, str):
        rule, remedy = "a fraction must lie between 0 and 1", 'write clip="best", or 1e-4'
        return check_probability("clip", clip, rule=rule, remedy=remedy, error=DomainError)
    if clip != "best":
        what, rule = f"clip={clip!r}", 'it must be "best" or a fraction of the records'
        raise DomainError(what, rule, 'write clip="best"', code="unknown-clip", clip=clip)
    return clip


def _numbers(name: str, values: Any) -> Array:
    try:
        array = np.atleast_1d(np.array(values, dtype=float))
    except (TypeError, ValueError, OverflowError):
        array = np.zeros((0, 0))
    if array.ndim != 1 or array.size == 0 or not np.isfinite(array).all():
        what, rule = f"{name}={values!r}"[:120], "it must hold finite numbers, one per coordinate"
        raise DomainError(what, rule, "give a list", code="not-numbers-per-coordinate", name=name, values=values)
    return array


def _spread_out(name: str, values: Any, dimension: int) -> Array:
    array = _numbers(name, values)
    if array.size not in (1, dimension):
        raise DomainError(
            f"{array.size} numbers in {name}",
            f"there are {dimension} standard deviations",
            "give one number per coordinate, or one for all",
            code="numbers-do-not-match-sd",
            numbers=array.size,
            name=name,
            dimension=dimension,
        )
    return np.full(dimension, array[0]) if array.size == 1 else array


MAX_COLUMNS = 4096
"""Limit on the columns whose cells are counted together."""


class UnknownGaussianData(GaussianData):
    """Vectors with roughly normal coordinates, of which only the number is public: neither where they lie nor how far
    they spread. Their plan has stages: private looks at the columns, and then a clipped sum (`papers/vectors.py`).

    rows:   a public estimate of the number of records (under replace-one their known number): it divides the budget.
    normal: True if the coordinates are known to be normal; else laws with skew and heavy tails are allowed for.

    Its mean 0 and standard deviation 1 are a guess, by which errors are stated before data is seen: in units of the
    true standard deviations.
    """

    kind = "unknown-gaussian"

    normal: bool

    def __init__(
        self,
        mean: None = None,
        sd: None = None,
        *,
        dimension: int | None = None,
        rows: float = 10_000,
        names: Sequence[str] | None = None,
        normal: bool = False,
        **others: Any,
    ) -> None:
        if others:
            name = next(iter(others))
            rule = "nothing is known of the data, so a plan chooses it"
            raise DomainError(
                f"{name}=", rule, "leave it out, or give mean and sd", code="unknown-data-told", name=name
            )
        if dimension is None:
            dimension = len(list(names or ()))
        rule = f"there must be a whole number of columns, from 1 to {MAX_COLUMNS}"
        remedy = "write GaussianData(dimension=16, rows=4000)"
        d = check_whole("dimension", dimension, 1, MAX_COLUMNS, rule=rule, remedy=remedy, error=DomainError)
        super().__init__([0.0] * d, [1.0] * d, rows=rows, names=check_coordinate_names(names, d))
        if not isinstance(normal, bool):
            rule = "it is True if the coordinates are known to be normal"
            raise DomainError(f"normal={normal!r}", rule, "write normal=True", code="normal-not-a-truth", normal=normal)
        object.__setattr__(self, "normal", normal)

    def check(self, problem: Problem[Any]) -> None:
        what = "Gaussian data of which nothing is known"
        rule = "only the mean of whole vectors is planned, in stages and without groups"
        remedy = "write gaussmith.papers.plan_vectors(domain, guarantee), or give mean and sd"
        raise PlanError(what, rule, remedy, code="unknown-data-in-one-stage")

    def to_dict(self) -> dict[str, Any]:
        fields: dict[str, Any] = {"kind": self.kind, "dimension": self.dimension, "rows": self.rows}
        fields["normal"] = self.normal
        return fields if self.names is None else {**fields, "names": list(self.names)}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> UnknownGaussianData:
        names = fields.get("names")
        return cls(dimension=fields["dimension"], rows=fields["rows"], names=names, normal=fields["normal"])

    def __repr__(self) -> str:
        plural = "s" if self.dimension > 1 else ""
        kind = "normal " if self.normal else ""
        return (
            f"GaussianData({self.dimension} {kind}coordinate{plural} of which nothing is known, "
            f"for about {self.rows:.6g} records)"
        )


# The clipped shape: Gaussian data scaled, clipped to an ellipsoid, and given noise of the same shape.
#
# With half axes a_j (the unit of the core), weights ω and E the weight of the count,
#
#     noise total at μ = 1:   (√(Σ ω_j a_j²) + √E)²   under add-remove,      4 Σ ω_j a_j²   under replace-one.
#
# The ellipsoid is chosen here, from public numbers alone; see `papers/scaling.py` for the methods.


def clipped(problem: Problem[GaussianData], mu: float, way: str | None = None) -> tuple[GaussianData, Strategy]:
    """The domain with its ellipsoid, and the shape that fits it; `way` "round" is the standard Gaussian mechanism.

    An ellipsoid that the domain already has, chosen by an earlier stage, is kept.
    """
    has_one = way is None and problem.domain.half_axes is not None
    chosen = problem.domain if has_one else choose(problem, mu, way).domain
    return chosen, lifted_round(problem.over(chosen), "isotropic" if way == "round" else "clipped")


@dataclass(frozen=True, eq=False)
class Choice:
    """An ellipsoid for Gaussian data, and what it costs: noise and clipping, weighted, at the plan's guarantee."""

    domain: GaussianData
    clip: Clip


def choose(problem: Problem[GaussianData], mu: float, way: str | None = None) -> Choice:
    """The domain with its ellipsoid: by its own `scaling` and `clip`, or by `way` instead of its scaling.

    Never looks at data. Any ellipsoid is private.
    """
    domain = problem.domain
    if domain.mean_within is None and problem.features.centred.any():
        domain = domain.off_by(domain.sd)  # a mean that is asked for is not known
    omega = problem.coordinate_weights
    asked = omega > 0
    # Coordinates that are not asked for still have to be clipped somewhere: they get a tiny weight.
    omega = np.where(asked, omega, 1e-12 * omega[asked].mean() if asked.any() else 1.0)
    values = omega * domain.deviation**2
    private = problem.secret_count
    offset = problem.over(domain).offset_weight / mu**2 if private else 0.0
    require_finite(values, offset, 1 / values.max())
    relative = np.maximum(values / values.max(), 1e-30)  # smaller weights are raised to this one
    drift = None if domain.mean_within is None else omega * domain.mean_within**2 / values.max()
    price = Price(relative, 1 / mu if private else 2 / mu, offset / values.max(), domain.rows, drift)
    clip = _clip(price, domain.clip, domain.deviation**2, way or domain.scaling)
    half_axes = domain.deviation * np.sqrt(clip.level / clip.shares)
    if (way or domain.scaling) == "round":  # the longest axis for all, whatever happened to tiny shares
        half_axes = np.full(domain.dimension, half_axes.max())
    unit = float(values.max())
    return Choice(domain.clipped_to(half_axes), Clip(clip.shares, clip.level, clip.noise * unit, clip.loss * unit))


def _clip(price: Price, clip: str | float, variances: Array, way: str) -> Clip:
    """As `_remember` finds it: the same question is asked again when a plan is explained."""
    drift = None if price.drift is None else price.drift.tobytes()
    return _remember(
        price.values.tobytes(), variances.tobytes(), drift, price.reach, price.offset, price.rows, clip, way
    )


@lru_cache(maxsize=64)
def _remember(
    values: bytes, variances: bytes, drift: bytes | None, reach: float, offset: float, rows: float,
    clip: str | float, way: str,
) -> Clip:  # fmt: skip
    price = Price(np.frombuffer(values), reach, offset, rows, None if drift is None else np.frombuffer(drift))
    if way == "chebyshev":
        return price.at(*scaling.chebyshev_shares(price.values))
    if way == "best" and clip == "best":
        return scaling.best_clip(price)
    if way == "best":
        return price.at(*scaling.improved_shares(price.values, float(clip)))
    plain = np.frombuffer(variances)
    shares = scaling.report_shares(price.values) if way == "report" else np.maximum(plain / plain.sum(), 1e-30)
    if clip == "best":
        return scaling.best_level(price, shares)
    return price.at(shares, quadratic_forms.quantile(shares, float(clip)))
