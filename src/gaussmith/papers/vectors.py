"""Means of columns with unknown range: their plan, from public numbers alone, and their release from a table.

    gm.papers.plan_vectors(gm.papers.GaussianData(dimension=16, rows=4000), guarantee)
    gm.papers.vector_means("people.parquet", ["height", "weight"], guarantee=guarantee)

Each row (or each person, by `person_columns`) is one vector. The plan has stages, which share one table: private looks
at the columns, and then a clipped sum (`VectorRule`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gaussmith.checks import checks_arguments
from gaussmith.domains.features import VECTOR
from gaussmith.domains.registry import domain_from_dict
from gaussmith.engines.addresses import read_source
from gaussmith.errors import PlanError, RequestError
from gaussmith.expressions.grammar import split_filter
from gaussmith.notations import setting
from gaussmith.numerics.exact import sqrt_downward
from gaussmith.numerics.threads import single_threaded
from gaussmith.papers.gaussian import GaussianData, UnknownGaussianData
from gaussmith.papers.vector_rule import VectorRule
from gaussmith.pipeline.release import release_made_up, release_table
from gaussmith.planning.answer_notes import About, read_about
from gaussmith.planning.plan import Plan
from gaussmith.planning.planner import plan
from gaussmith.planning.row_rule import RowRule
from gaussmith.planning.staging import ANSWERS, StageStep, Staging, share_of
from gaussmith.privacy.guarantee import Guarantee
from gaussmith.privacy.neighbours import ADD_REMOVE, choose
from gaussmith.releases.release import Release
from gaussmith.requests.readers import read_guarantee, refuse_paths

GUESS = (
    "Errors are stated as if every column came out as normal with standard deviation 1: multiply them by the true "
    "standard deviations."
)


@single_threaded()
@checks_arguments
def plan_vectors(
    domain: GaussianData,
    guarantee: Guarantee | Mapping[str, float],
    *,
    neighbours: str = ADD_REMOVE,
    neighbors: str | None = None,
    weights: Any = "relative",
) -> Plan:
    """The plan for the means of vectors of which only the number of columns is public; `plan.release(data)` runs it.

    domain:  GaussianData(dimension=16, rows=4000) or GaussianData(names=["height", "weight"])
    weights: "relative" (to the spread that is found), "equal", or one positive number per column

    Errors before the release are in units of the standard deviations, which are not known yet.

    >>> import gaussmith as gm
    >>> gm.papers.plan_vectors(gm.papers.GaussianData(names=["height"]), gm.Guarantee(mu=1)).names
    ('height',)
    """
    if not isinstance(domain, UnknownGaussianData):
        what = f"domain of type {type(domain).__name__}, of which something is known"
        rule = "the columns of vector means have no stated bounds, mean or spread"
        remedy = "write gaussmith.papers.GaussianData(dimension=16, rows=4000), or use gaussmith.plan"
        raise PlanError(what, rule, remedy, code="vectors-of-known-data", type=type(domain).__name__)
    return _planned(domain, read_guarantee(guarantee), choose(neighbours, neighbors), weights, None)


@checks_arguments
def vector_means(
    source: Any,
    columns: Sequence[str],
    *,
    guarantee: Guarantee | Mapping[str, float],
    unit: str | None = None,
    person_columns: Mapping[str, str] | None = None,
    derived: Mapping[str, str] | None = None,
    where: str | None = None,
    rows: float = 10_000,
    normal: bool = False,
    weights: Any = "relative",
    neighbours: str = ADD_REMOVE,
    neighbors: str | None = None,
    about: About | Mapping[str, Any] | None = None,
    ledger: Any = None,
    id: str | None = None,
    engine: str | None = None,
    master: str | None = None,
    progress: Callable[[float | None], None] | None = None,
    made_up: int | None = None,
) -> Release:
    """Release the means of columns with unknown range, charged to a ledger if one is given.

    unit, person_columns: who is one person, and how the rows of a person become one vector
    derived, where:       derived columns and a filter, as `columns` and `where` of a request
    rows, normal:         a public guess of the number of rows; whether the columns are known to be normal
    weights:              as in `plan_vectors`
    made_up:              release this many made-up rows instead of the source's: nothing is charged

    Everything else is as in `gaussmith.release` and its requests.

    >>> import polars as pl, gaussmith as gm
    >>> people = pl.DataFrame({"height": [170.0, 180.0] * 500})
    >>> gm.papers.vector_means(people, ["height"], guarantee=gm.Guarantee(mu=5), normal=True).names
    ('height_mean',)
    """
    refuse_paths(read_source(source).data)
    neighbours = choose(neighbours, neighbors)
    rule = _row_rule(columns, unit, dict(person_columns or {}), dict(derived or {}), where, neighbours)
    domain = UnknownGaussianData(names=[f"{name}_mean" for name in rule.names], rows=rows, normal=normal)
    made = replace(_planned(domain, read_guarantee(guarantee), neighbours, weights, rule), about=read_about(about))
    if made_up is not None:
        return release_made_up(made, source, made_up)
    return release_table(made, source, [], unit, ledger, id, progress, engine, master)


def _planned(
    domain: UnknownGaussianData, guarantee: Guarantee, neighbours: str, weights: Any, row_rule: RowRule | None
) -> Plan:
    """A plan with stages; its own query is that of the last stage under a stated guess."""
    weighed = _weights(weights, domain.dimension)
    public = neighbours != ADD_REMOVE
    rule = VectorRule(
        domain.dimension, domain.rows, guarantee.mu, public, domain.normal, weighed, domain.names
    )  # fmt: skip

    def plan_step(step: StageStep, share: Guarantee) -> Plan:
        asked, worth = domain_from_dict(dict(step.asks["domain"])), step.asks.get("weights")
        wanted = {"answers": "sums", "weights": "equal"} if worth is None else {"answers": "means", "weights": worth}
        made = plan(asked, share, neighbours=neighbours, **wanted)
        return replace(made, queries=tuple(replace(query, row_rule=row_rule) for query in made.queries))

    whole = guarantee.mu_squared
    first = rule.step((), whole)
    left = Guarantee(mu=sqrt_downward((1 - rule.most_before) * whole))
    guessed = plan_step(StageStep(ANSWERS, None, rule.guessed()), left)
    staging = Staging(rule, plan_step(first, share_of(guarantee, first, whole)), GUESS, plan_step)
    return replace(guessed, guarantee=guarantee, staging=staging)


def _names(columns: Any) -> list[str]:
    names = list(columns) if isinstance(columns, Sequence) and not isinstance(columns, str) else []
    if not names or not all(isinstance(name, str) and name for name in names) or len({*names}) < len(names):
        what, rule = f"columns={columns!r}"[:120], "vector means name columns, each once"
        raise RequestError(what, rule, 'write ["height", "weight"]', code="vector-means-without-columns")
    return names


def _check_unit(unit: Any, person_columns: dict[str, str], first: str) -> None:
    if not isinstance(unit, str) or not unit:
        what, rule = f"unit={unit!r}", "it must be the name of a column"
        raise RequestError(what, rule, f"write {setting('unit', 'person')}", code="unit-not-a-name", unit=unit)
    if not person_columns:
        what = "vector means of people with several rows"
        rule = "each person is one vector, so it must be said how rows become one"
        remedy = f"write {setting('person_columns', {f'own_{first}': f'mean({first})'})} and name these columns"
        raise RequestError(what, rule, remedy, code="vector-means-of-rows")


def _row_rule(
    columns: Any, unit: Any, person_columns: dict[str, str], derived: dict[str, str], where: str | None, neighbours: str
) -> RowRule:
    """How rows become vectors; refuses what does not say it, and a secret number of rows where it must be public."""
    names = _names(columns)
    if unit is not None:
        _check_unit(unit, person_columns, names[0])
    row_where, person_where = split_filter(where, person_columns)
    if neighbours != ADD_REMOVE and (row_where is not None or person_where is not None):
        what = "a filter of vector means under replace-one"
        rule = "the number of all people is public there, and that of those who pass the filter is not"
        remedy = f"leave where out, or write {setting('neighbours', 'add-remove')}"
        raise RequestError(what, rule, remedy, code="filtered-vector-means-under-replace-one")
    return RowRule(
        tuple((VECTOR, name) for name in names),
        unit,
        columns=tuple(derived.items()),
        where=row_where,
        person_columns=tuple(person_columns.items()),
        person_where=person_where,
    )


def _weights(weights: Any, dimension: int) -> tuple[float, ...] | None:
    """None: relative; refuses what is not one positive number per column."""
    if isinstance(weights, str) and weights == "relative":
        return None
    if isinstance(weights, str) and weights == "equal":
        return (1.0,) * dimension
    try:
        found = np.array(weights, float)
    except (TypeError, ValueError, OverflowError):
        found = np.zeros(0)
    if found.shape != (dimension,) or not ((found > 0) & (found < 1e150)).all():
        what, rule = f"weights={weights!r}"[:120], f"they must be one positive number for each of {dimension} columns"
        raise PlanError(what, rule, 'write weights="relative" or weights="equal"', code="weights-of-vectors-damaged")
    return tuple(found.tolist())
