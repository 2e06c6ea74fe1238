"""The public planning function: a domain, a guarantee and the answers wanted. Never sees data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gaussmith.checks import checks_arguments
from gaussmith.domains.domain import Domain, Problem
from gaussmith.domains.groups import Groups
from gaussmith.domains.moments import Moments
from gaussmith.domains.strategies import BEST, Progress
from gaussmith.errors import PlanError
from gaussmith.numerics.doubles import within_doubles
from gaussmith.numerics.threads import single_threaded
from gaussmith.planning.block import Block
from gaussmith.planning.choice import plan_problem
from gaussmith.planning.joining import Questions
from gaussmith.planning.plan import Plan
from gaussmith.planning.query import UNTOLD, Query, query_groups
from gaussmith.planning.row_rule import RowRule
from gaussmith.privacy.guarantee import Guarantee
from gaussmith.privacy.neighbours import ADD_REMOVE, choose
from gaussmith.statistics.answers import Answers
from gaussmith.statistics.asking import MOMENT_ANSWERS, aim, ask, ask_of_moments, weights_for


@single_threaded()
@checks_arguments
def plan(
    domain: Domain | Groups,
    guarantee: Guarantee,
    *,
    neighbours: str = ADD_REMOVE,
    neighbors: str | None = None,
    answers: Any = "sums",
    count: bool = False,
    weights: Any = "relative",
    missing: Mapping[str, float] | None = None,
    mean_within: Mapping[str, Any] | float | None = None,
    shape: str = "best",
    objective: str = "total",
    targets: Any = None,
    gap: float | None = None,
    progress: Progress | None = None,
) -> Plan:
    """The most accurate plan for these answers under this guarantee.

    neighbours: "add-remove" (the number of people is secret) or "replace-one" (it is public); neighbors is the same.
    answers:    "sums", "means", a matrix with one column per coordinate and one row per answer, over cells a workload
                such as gaussmith.workloads.prefix(n), or over moments "variances", "covariance" (with variances and
                correlations), or {"of": "income", "on": ["age"]}: a regression.
    count:      True: the number of records is an answer too, with weight 1.
    weights:    "relative" (to each answer's range), "equal", or one positive number per answer; as in a request.
    missing:    the substitute for a missing value, by column; the default is the point within the bounds nearest zero
                for sums, and their centre for means.
    mean_within: where means lie, for the errors that the plan states: {"age": (30, 50)}, or the middle fraction of the
                bounds, such as 0.5. By default anywhere within the bounds. It does not change the noise.
    shape:      "best", or one by name, for comparison: "isotropic", "elliptical", "lifted", "solved".
    objective:  over cells and points: "total", the weighted sum of squared errors, or "worst", the largest error in
                units of its target (`targets`: one standard error per answer, default 1; instead of weights).
    gap:        relative gap to the certified optimum for numerically solved noise, such as 1e-6.
    progress:   called with the round and the gap reached while noise is solved.

    >>> import gaussmith as gm
    >>> p = gm.plan(gm.Box([0] * 16, [1] * 16), gm.Guarantee(epsilon=1, delta=1e-6))
    >>> float(p.standard_errors[0].round(2))
    10.56
    """
    if not isinstance(guarantee, Guarantee):
        raise PlanError(
            f"guarantee of type {type(guarantee).__name__}",
            "a plan needs a guarantee",
            "write gaussmith.Guarantee(epsilon=1, delta=1e-6)",
            code="plan-without-guarantee",
            type=type(guarantee).__name__,
        )
    weights = weights_for(objective, weights)
    if isinstance(domain, Groups):
        with within_doubles():
            asked = aim(_ask(domain.domain, answers, count, weights, mean_within), objective, targets)
        protected = choose(neighbours, neighbors)
        if guarantee.is_pure:
            return _plan_pure(domain.domain, domain, guarantee, asked, protected, missing, shape)
        return _plan_groups(domain, guarantee, asked, protected, missing, shape).certified()
    if not isinstance(domain, Domain):
        if hasattr(domain, "refusal"):  # an entry of the catalogue that says why it must not be used
            raise domain.refusal
        raise PlanError(
            f"domain of type {type(domain).__name__}",
            "a plan starts from what one record can be",
            "give a domain such as gaussmith.Box, gaussmith.Cells or gaussmith.Counts",
            code="plan-without-domain",
            type=type(domain).__name__,
        )
    protected = choose(neighbours, neighbors)
    with within_doubles():
        asked = aim(_ask(domain, answers, count, weights, mean_within), objective, targets)
    if guarantee.is_pure:
        return _plan_pure(domain, None, guarantee, asked, protected, missing, shape)
    problem = Problem(domain, asked.features, protected)
    block = plan_problem(problem, asked, guarantee, missing, shape, gap, progress)
    return Plan.of(Query(block, guarantee, protected))


def _ask(domain: Domain, answers: Any, count: bool, weights: Any, mean_within: Any) -> Answers:
    """The answers asked of a domain; those of second moments are read from several features each."""
    if isinstance(domain, Moments) and (isinstance(answers, Mapping) or answers in MOMENT_ANSWERS):
        return ask_of_moments(domain, answers, count, weights)
    return ask(domain, answers, count, weights, mean_within)


def _plan_pure(
    domain: Domain,
    groups: Groups | None,
    guarantee: Guarantee,
    asked: Answers,
    neighbours: str,
    missing: Mapping[str, float] | None,
    shape: str,
) -> Plan:
    """Noise of a pure ε, whose strategy follows from the domain."""
    if shape != BEST:
        raise PlanError(
            f"shape={shape!r} under pure ε",
            "shapes are those of Gaussian noise",
            "leave shape out",
            code="shape-under-pure-epsilon",
            shape=shape,
        )
    from gaussmith.planning.pure_noise import plan_pure

    problem = Problem(domain, asked.features, neighbours if groups is None else ADD_REMOVE)
    domain.check(problem)
    block = Block(problem, asked, guarantee, UNTOLD, domain.substitutes(asked.features, missing or {}))
    return Plan.of(*plan_pure([Query(block, guarantee, neighbours, groups)], [1.0], guarantee)).certified()


def _plan_groups(
    groups: Groups,
    guarantee: Guarantee,
    asked: Answers,
    neighbours: str,
    missing: Mapping[str, float] | None,
    shape: str,
) -> Plan:
    """Groups with noise of their own, or with one noise for all where that is better."""

    problem = Problem(groups.domain, asked.features, ADD_REMOVE)  # who is in a group is secret

    def plan_alone(_: int, share: Guarantee) -> Query:
        return query_groups(groups, share, neighbours, lambda each: plan_problem(problem, asked, each, missing, shape))

    alone = plan_alone(0, guarantee)
    if shape != BEST or asked.features.targets is not None:
        return Plan.of(alone)
    return Plan.of(*Questions([alone], [1.0], plan_alone, RowRule(()), guarantee, neighbours).queries())
